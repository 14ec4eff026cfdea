package live

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/socket"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of sockets.
const (
	maxReaders  = 8
	maxServers  = 64
	maxPath     = 100 // bytes; sockets of some systems allow 104
	dialTimeout = time.Second
	readTimeout = 3 * time.Second // for a whole Snapshot
	extension   = ".sock"
)

// Dir returns the directory of the sockets, which is in the user's state directory: clients start servers without most variables of the
// environment, so that a directory which such a variable names would differ from server to server.
func Dir(state string) string { return filepath.Join(state, "live") }

// Server offers the state of one server at a socket: a reader that connects gets a Snapshot as a line of JSON.
type Server struct {
	listener net.Listener
	state    *State
	readers  chan struct{}
}

// Listen offers s at a new socket in dir, until Close is called. Sockets that killed servers have left there are removed.
func Listen(dir string, s *State) (*Server, error) {
	path := filepath.Join(dir, fmt.Sprintf("%d-%s%s", os.Getpid(), rand.Text()[:6], extension))
	if longest := filepath.Join(dir, ".socket-4294967295", "s"); max(len(path), len(longest)) > maxPath {
		return nil, fmt.Errorf("the path of the socket, %s, is longer than %d bytes: set XDG_STATE_HOME to a shorter path, for the server and for `bulkhead ui`", path, maxPath)
	}
	l, err := socket.Listen(path)
	if err != nil {
		return nil, err
	}
	removeAbandoned(dir)
	v := &Server{listener: l, state: s, readers: make(chan struct{}, maxReaders)}
	go v.serve()
	return v, nil
}

// Close removes the socket.
func (v *Server) Close() { _ = v.listener.Close() }

func (v *Server) serve() {
	for {
		conn, err := v.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files, which passes
			time.Sleep(100 * time.Millisecond)
			continue
		}
		select {
		case v.readers <- struct{}{}:
			go func() {
				defer func() { <-v.readers }()
				v.write(conn)
			}()
		default:
			_ = conn.Close()
		}
	}
}

// write writes a Snapshot to a reader, which is dropped if it does not take it.
func (v *Server) write(conn net.Conn) {
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(readTimeout)) != nil {
		return
	}
	_ = json.NewEncoder(conn).Encode(v.state.Snapshot()) // an error means that the reader has gone, or is too slow
}

// removeAbandoned removes the sockets in dir at which no server listens. A server gives its socket its name when it listens already.
func removeAbandoned(dir string) {
	paths, _ := sockets(dir)
	for _, path := range paths {
		if socket.IsAbandoned(path) {
			_ = os.Remove(path)
		}
	}
}

// sockets returns the paths of at most maxServers sockets in dir, and whether there are more.
func sockets(dir string) (paths []string, more bool) {
	entries, _ := os.ReadDir(dir) // absent: there are none
	for _, e := range entries {
		if e.Type() == fs.ModeSocket && strings.HasSuffix(e.Name(), extension) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	more = len(paths) > maxServers
	return paths[:min(len(paths), maxServers)], more
}

// Reading is what the servers of the user have told.
type Reading struct {
	Servers []Snapshot // the oldest first
	Silent  []string   // why sockets at which a program listens have told nothing
	More    bool       // whether there are more sockets than were read
}

// Read reads the state of the servers whose sockets are in dir. It is an error if another user could have made a socket there.
func Read(ctx context.Context, dir string) (Reading, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return Reading{}, nil
	}
	if err := ownedpath.Check(dir); err != nil {
		return Reading{}, errors.New(ownedpath.Explain(err))
	}
	paths, more := sockets(dir)
	r := Reading{More: more}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, path := range paths {
		all.Go(func() {
			line, err := readLine(ctx, path)
			mu.Lock() // also while a line is decoded, which takes several times its memory
			defer mu.Unlock()
			var s Snapshot
			if err == nil {
				s, err = decode(line)
			}
			switch {
			case err == nil:
				r.Servers = append(r.Servers, s)
			case !isAbandoned(err):
				r.Silent = append(r.Silent, filepath.Base(path)+": "+err.Error())
			}
		})
	}
	all.Wait()
	slices.SortFunc(r.Servers, func(a, b Snapshot) int { return a.Started.Compare(b.Started) })
	slices.Sort(r.Silent)
	return r, nil
}

// isAbandoned reports whether the server of a socket has ended.
func isAbandoned(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

// readLine returns the line of JSON at a socket.
func readLine(ctx context.Context, path string) ([]byte, error) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(readTimeout)); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxSnapshot)).ReadBytes('\n')
	switch {
	case len(line) == 0 && errors.Is(err, io.EOF):
		return nil, errors.New("it has too many readers")
	case err != nil:
		return nil, fmt.Errorf("it has not told its state: %w", err)
	}
	return line, nil
}

// decode returns the Snapshot in a line, cut to its bounds.
func decode(line []byte) (s Snapshot, err error) {
	if err = rawjson.Bound(line, maxValues, maxNesting); err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil { // an error of encoding/json quotes numbers and times
		return Snapshot{}, errors.New(bounded("it has told what is no state: " + err.Error()))
	}
	s.bound()
	return s, nil
}

// bound cuts what a server, which may be another version of this program, has told to the bounds of a Snapshot.
func (s *Snapshot) bound() {
	s.Calls = s.Calls[:min(len(s.Calls), maxCalls)]
	s.Workers = s.Workers[:min(len(s.Workers), maxWorkers)]
	s.Waiting = s.Waiting[:min(len(s.Waiting), maxEvents)]
	for _, list := range []*[]Event{&s.Ended, &s.Refused, &s.Limits, &s.Asked} {
		*list = (*list)[:min(len(*list), maxEvents)]
	}
	config, project := visible.Truncate(s.Config, maxFile), visible.Truncate(s.ProjectDir, maxFile)
	boundTexts(reflect.ValueOf(s).Elem())
	s.Config, s.ProjectDir = config, project
}

// boundTexts cuts the exported strings in v to maxText.
func boundTexts(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(bounded(v.String()))
	case reflect.Slice:
		for i := range v.Len() {
			boundTexts(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				boundTexts(field)
			}
		}
	}
}
