package forward

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// hostile contains what could end a line, a field or a datagram, and what could control a terminal.
const hostile = "x\nMESSAGE=forged\nPRIORITY=0\n\x00\x1b[2J\u2028\u202e<0>kernel: forged \" \\"

// listen returns a datagram socket that the test reads, and its path, which has at most 107 bytes.
func listen(t *testing.T) (socket *net.UnixConn, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "s")
	return listenAt(t, path), path
}

func listenAt(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return socket
}

// receive returns the content of the next datagram, or of the file whose descriptor it passes.
func receive(t *testing.T, socket *net.UnixConn) (content []byte, isFile bool) {
	t.Helper()
	if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	b, rights := make([]byte, 1<<20), make([]byte, 64)
	n, nRights, _, _, err := socket.ReadMsgUnix(b, rights)
	if err != nil {
		t.Fatal(err)
	}
	if nRights == 0 {
		return b[:n], false
	}
	messages, err := unix.ParseSocketControlMessage(rights[:nRights])
	if err != nil || len(messages) != 1 || n != 0 {
		t.Fatalf("%d control messages, %d bytes, %v", len(messages), n, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("descriptors %v, %v", fds, err)
	}
	f := os.NewFile(uintptr(fds[0]), "sealed")
	defer f.Close()
	const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err != nil || seals != all {
		t.Errorf("seals %x, %v", seals, err)
	}
	if content, err = io.ReadAll(io.NewSectionReader(f, 0, 1<<20)); err != nil {
		t.Fatal(err)
	}
	return content, true
}

// fieldsOf parses a datagram of journald's native protocol as journald does, and refuses what it would ignore.
func fieldsOf(b []byte) (map[string]string, error) {
	fields := map[string]string{}
	for len(b) > 0 {
		line, rest, found := bytes.Cut(b, []byte{'\n'})
		name, value, isShort := strings.Cut(string(line), "=")
		switch {
		case !found:
			return nil, fmt.Errorf("%q has no end", line)
		case !isShort && len(rest) < 8:
			return nil, fmt.Errorf("%q has no length", line)
		case !isShort:
			size := binary.LittleEndian.Uint64(rest)
			if rest = rest[8:]; size >= uint64(len(rest)) || rest[size] != '\n' {
				return nil, fmt.Errorf("%q has the length %d of %d", line, size, len(rest))
			}
			value, rest = string(rest[:size]), rest[size+1:]
		}
		if _, again := fields[name]; again || !regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`).MatchString(name) {
			return nil, fmt.Errorf("field %q, twice: %v", name, again)
		}
		fields[name], b = value, rest
	}
	return fields, nil
}

func openLog(t *testing.T, a config.Audit, stdout io.Writer, at Sockets) *audit.Log {
	t.Helper()
	a.File = filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(&a, stdout, hclog.NewNullLogger(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return l
}

func writeTool(t *testing.T, l *audit.Log, tool string) {
	t.Helper()
	if err := l.Write(audit.Record{Kind: audit.KindCall, Tool: tool, Via: tool, Parent: tool, Task: tool, Plugin: tool, Client: tool, Request: []byte(tool), Outcome: audit.Denied}); err != nil {
		t.Fatal(err)
	}
}

func TestJournalFieldsCannotBeForged(t *testing.T) {
	t.Parallel()
	socket, path := listen(t)
	writeTool(t, openLog(t, config.Audit{Also: []string{config.AuditJournald}}, nil, Sockets{Journald: path}), hostile)
	b, _ := receive(t, socket)
	fields, err := fieldsOf(b)
	if err != nil {
		t.Fatal(err)
	}
	var e audit.Entry
	if err := json.Unmarshal([]byte(fields["MESSAGE"]), &e); err != nil || e.Tool != strings.ToValidUTF8(hostile, "�") {
		t.Errorf("%v: %q", err, fields["MESSAGE"])
	}
	want := map[string]string{"PRIORITY": "5", "SYSLOG_FACILITY": "10", "SYSLOG_IDENTIFIER": "bulkhead-audit", "BULKHEAD_KIND": "call", "BULKHEAD_OUTCOME": "denied"}
	for name, value := range fields {
		switch {
		case want[name] != "" && value != want[name]:
			t.Errorf("%s = %q, want %q", name, value, want[name])
		case want[name] == "" && name != "MESSAGE" && !strings.HasPrefix(value, "x MESSAGE=forged PRIORITY=0"):
			t.Errorf("%s = %q", name, value)
		}
		if strings.ContainsAny(value, "\n\x00\x1b\u2028\u202e") {
			t.Errorf("%s = %q has control characters", name, value)
		}
	}
	if len(fields) != len(want)+len([]string{"MESSAGE", "TOOL", "VIA", "PARENT", "TASK", "PLUGIN", "CLIENT", "REQUEST"}) {
		t.Errorf("%d fields: %q", len(fields), fields)
	}
}

// FuzzEncodeJournal checks that lines which no Log would write are one datagram with fixed names of fields too.
func FuzzEncodeJournal(f *testing.F) {
	f.Add([]byte(`{"kind":"call","tool":"x\nMESSAGE=forged"}`))
	f.Add([]byte("\x00\n{}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		fields, err := fieldsOf(encodeJournal(nil, line))
		if err != nil || fields["MESSAGE"] != string(line) || fields["SYSLOG_IDENTIFIER"] != identifier {
			t.Errorf("%v: %q", err, fields)
		}
		for name, value := range fields {
			if name != "MESSAGE" && strings.ContainsAny(value, "\n\x00\x1b") {
				t.Errorf("%s = %q", name, value)
			}
		}
	})
}

func TestSyslogMessageIsOneLine(t *testing.T) {
	t.Parallel()
	socket, path := listen(t)
	writeTool(t, openLog(t, config.Audit{Also: []string{config.AuditSyslog}}, nil, Sockets{Syslog: path}), hostile)
	b, _ := receive(t, socket)
	form := regexp.MustCompile(fmt.Sprintf(`^<85>[A-Z][a-z]{2} [ 1-3][0-9] [0-9:]{8} bulkhead-audit\[%d\]: (\{[^\n\x00-\x1f]*\})$`, os.Getpid()))
	found := form.FindSubmatch(b)
	if found == nil || !json.Valid(found[1]) {
		t.Errorf("%q", b)
	}
}

// TestLongRecordIsSentAsSealedFile uses a socket whose datagrams are shorter than the record.
func TestLongRecordIsSentAsSealedFile(t *testing.T) {
	t.Parallel()
	socket, path := listen(t)
	d, err := dial(path, encodeJournal, sendFile)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.conn.SetWriteBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	line := `{"kind":"call","tool":"long","arguments":"` + strings.Repeat("a", audit.MaxLine-100) + "\"}\n"
	if n, err := d.Append([]byte(line)); n != len(line) || err != nil {
		t.Fatal(n, err)
	}
	b, isFile := receive(t, socket)
	fields, err := fieldsOf(b)
	if err != nil || !isFile || fields["MESSAGE"]+"\n" != line || fields["BULKHEAD_TOOL"] != "long" {
		t.Errorf("%v, file: %v, %d bytes", err, isFile, len(b))
	}
}

// TestLongestRecordFitsIntoDatagram sends the longest line to sockets with the system's default buffer.
func TestLongestRecordFitsIntoDatagram(t *testing.T) {
	t.Parallel()
	socket, path := listen(t)
	l := openLog(t, config.Audit{Also: []string{config.AuditSyslog}, Arguments: "full"}, nil, Sockets{Syslog: path})
	operations := make([]audit.Operation, 60)
	for i := range operations {
		operations[i] = audit.Operation{Op: "file/open", Target: strings.Repeat("é", 500), Outcome: audit.OK}
	}
	if err := l.Write(audit.Record{Kind: audit.KindCall, Arguments: bytes.Repeat([]byte{'a'}, 64<<10), Operations: operations}); err != nil {
		t.Fatal(err)
	}
	if b, _ := receive(t, socket); len(b) < 55<<10 || b[len(b)-1] != '}' {
		t.Errorf("%d bytes", len(b))
	}
}

// TestBlockedSocketDelaysNoCall writes more than the queue holds while the socket is not read. Later each record has arrived or is
// counted in a gap line, and the file has all of them.
func TestBlockedSocketDelaysNoCall(t *testing.T) {
	t.Parallel()
	for _, onFailure := range []string{config.FailOpen, config.FailClosed} {
		t.Run(onFailure, func(t *testing.T) {
			t.Parallel()
			socket, path := listen(t)
			l := openLog(t, config.Audit{Also: []string{config.AuditJournald}, OnFailure: onFailure, Arguments: "full"}, nil, Sockets{Journald: path})
			const records = 600
			arguments := bytes.Repeat([]byte{'a'}, 31<<10)
			for range records {
				if err := errors.Join(l.Ready(), l.Write(audit.Record{Kind: audit.KindCall, Arguments: arguments})); err != nil {
					t.Fatal(err)
				}
			}
			var arrived, lost int64
			for arrived+lost < records {
				b, _ := receive(t, socket)
				fields, err := fieldsOf(b)
				var e audit.Entry
				if err = errors.Join(err, json.Unmarshal([]byte(fields["MESSAGE"]), &e)); err != nil {
					t.Fatal(err)
				}
				if e.Kind == audit.KindGap {
					lost += e.Lost
					if fields["PRIORITY"] != "4" {
						t.Errorf("priority %s", fields["PRIORITY"])
					}
					continue
				}
				if lost > 0 {
					arrived++
					continue
				}
				writeTool(t, l, "in the place of the one that has arrived") // the next batch begins with the gap line
			}
			if lost == 0 {
				t.Error("the queue has no bound")
			}
		})
	}
}

func TestSocketOfRestartedDaemonIsFound(t *testing.T) {
	t.Parallel()
	socket, path := listen(t)
	d, err := dial(path, encodeSyslog, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	socket.Close()
	if n, err := d.Append([]byte("{}\n")); n != 0 || err == nil {
		t.Errorf("without a daemon: %d, %v", n, err)
	}
	_ = os.Remove(path)
	socket = listenAt(t, path)
	if n, err := d.Append([]byte("{}\n")); n != 3 || err != nil {
		t.Errorf("with a new daemon: %d, %v", n, err)
	}
	if b, _ := receive(t, socket); !bytes.HasSuffix(b, []byte("]: {}")) {
		t.Errorf("%q", b)
	}
}

func TestOpenRefusesAbsentSocket(t *testing.T) {
	t.Parallel()
	a := &config.Audit{File: filepath.Join(t.TempDir(), "audit.jsonl"), Also: []string{config.AuditJournald}, Source: "/c.toml", Line: 3}
	l, err := Open(a, nil, hclog.NewNullLogger(), Sockets{Journald: filepath.Join(t.TempDir(), "absent")})
	if l != nil || !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), "/c.toml:3: audit.also: journald cannot be reached") {
		t.Errorf("%v", err)
	}
}

// output is a stdout.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

func TestStdoutGetsLinesOfFile(t *testing.T) {
	t.Parallel()
	var out output
	a := config.Audit{File: filepath.Join(t.TempDir(), "audit.jsonl"), Also: []string{config.AuditStdout}}
	l, err := Open(&a, &out, hclog.NewNullLogger(), SystemSockets)
	if err != nil {
		t.Fatal(err)
	}
	writeTool(t, l, hostile)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(a.File)
	if err != nil || out.String() != string(file) || len(file) == 0 {
		t.Errorf("%v: %q, file %q", err, out.String(), file)
	}
}
