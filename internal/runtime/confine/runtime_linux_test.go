package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/unix"
)

// addModule exports add: (i32, i32) -> i32.
var addModule = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x07\x01\x60\x02\x7f\x7f\x01\x7f" + "\x03\x02\x01\x00" + "\x07\x07\x01\x03add\x00\x00" +
	"\x0a\x09\x01\x07\x00\x20\x00\x20\x01\x6a\x0b")

func init() {
	scenarios["works"] = func(j job) (Report, map[string]string, error) {
		report, err := Apply(j.Config)
		if err != nil {
			return nil, nil, err
		}
		return report, checks(map[string]func() error{
			"goroutines, timers and preemption": preemption,
			"garbage collection":                garbage,
			"native code of wazero":             wasm,
			"mapping executable memory":         mapExecutable,
			"files of a writable directory":     changeFiles,
			"reading a read-only directory":     func() error { return readAt(readFD, "file") },
			"file system of a directory":        func() error { return unix.Fstatfs(readFD, new(unix.Statfs_t)) },
			"code in the root":                  func() error { return readCode(j, report) },
			"reading and writing a socket":      echo,
			"os.File in the root directory":     func() error { return osFile(report) },
			"copying between files":             copyFile,
			"reading a pipe":                    pipe,
			"identity":                          func() error { return identity(j) },
		}), nil
	}
}

func TestConfinedProcessRunsGoAndWazero(t *testing.T) {
	for name, o := range map[string]options{"with namespaces": {}, "without namespaces": {noNamespaces: true}} {
		t.Run(name, func(t *testing.T) {
			j := job{Scenario: "works", User: os.Getuid()}
			j.Config = Config{Memory: 1 << 30, AddressSpace: 2 << 30, Threads: 100, OpenFiles: 64, FileSize: 1 << 20, CPU: time.Minute}
			cmd, socket := command(t, &j, o)
			cmd.Stdin = strings.NewReader("piped")
			var out bytes.Buffer
			cmd.Stdout = &out
			must(t, cmd.Start())
			cmd.ExtraFiles[socketFD-writeFD].Close() // so that the host's end gets EOF when the child exits
			replies := make(chan string, 1)
			go func() { replies <- converse(socket) }()
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			answer := decode(t, out.Bytes())
			for check, result := range answer.Results {
				if result != "" {
					t.Errorf("%s: %s", check, result)
				}
			}
			for _, l := range answer.Report.Missing() {
				t.Logf("%s is missing: %s", l.Name, l.Reason)
			}
			if got := <-replies; got != "hello" {
				t.Errorf("the host read %q", got)
			}
			var st syscall.Stat_t
			must(t, syscall.Stat(filepath.Join(j.Base, "write/sub/renamed"), &st))
			if int(st.Uid) != os.Getuid() || int(st.Gid) != os.Getgid() {
				t.Errorf("the created file belongs to %d:%d", st.Uid, st.Gid)
			}
		})
	}
}

// converse sends 1 MiB and reads the answer until the end.
func converse(socket *os.File) string {
	conn, err := net.FileConn(socket)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	socket.Close()
	if _, err := conn.Write(make([]byte, 1<<20)); err != nil {
		return err.Error()
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		return err.Error()
	}
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// echo reads 1 MiB from the socket and answers "hello". Calls that only sockets have are denied.
func echo() error {
	socket := os.NewFile(socketFD, "socket")
	defer socket.Close()
	total, err := io.Copy(io.Discard, socket)
	if err != nil {
		return err
	}
	if total != 1<<20 {
		return fmt.Errorf("read %d bytes from the socket, want 1 MiB", total)
	}
	_, err = socket.WriteString("hello")
	return err
}

// preemption runs loops without function calls on one processor, so the runtime can only preempt them with signals.
func preemption() error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var stop atomic.Bool
	var spinning, done sync.WaitGroup
	for range 2 {
		spinning.Add(1)
		done.Go(func() {
			spinning.Done()
			for !stop.Load() {
			}
		})
	}
	spinning.Wait()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for range 3 {
		<-ticker.C
	}
	runtime.GC()
	stop.Store(true)
	done.Wait()
	return nil
}

func garbage() error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var kept [64][]byte
	for i := range 4096 {
		kept[i%len(kept)] = make([]byte, 64<<10)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if after.NumGC == before.NumGC {
		return errors.New("no collection")
	}
	runtime.KeepAlive(&kept)
	return nil
}

func wasm() error {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	defer r.Close(ctx)
	module, err := r.Instantiate(ctx, addModule)
	if err != nil {
		return err
	}
	result, err := module.ExportedFunction("add").Call(ctx, 40, 2)
	if err == nil && result[0] != 42 {
		err = fmt.Errorf("40 + 2 = %d", result[0])
	}
	return err
}

func mapExecutable() error {
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	return errors.Join(unix.Mprotect(b, unix.PROT_READ|unix.PROT_EXEC), unix.Munmap(b))
}

var beneath = unix.OpenHow{Flags: unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC, Mode: 0o644,
	Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS}

// changeFiles performs the file operations of a module's file tree, with renames and links across directories.
func changeFiles() error {
	fd, err := unix.Openat2(writeFD, "sub/new", &beneath)
	if err != nil {
		return err
	}
	var errs []error
	step := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	f := os.NewFile(uintptr(fd), "new")
	defer f.Close()
	_, err = f.WriteString("0123456789")
	step("write", err)
	_, err = f.WriteAt([]byte("x"), 3)
	step("pwrite", err)
	_, err = f.ReadAt(make([]byte, 4), 0)
	step("pread", err)
	step("ftruncate", f.Truncate(5))
	step("fsync", f.Sync())
	step("fdatasync", unix.Fdatasync(fd))
	step("fchmod", f.Chmod(0o755))
	step("futimens", setTimes(fd))
	step("renameat", unix.Renameat(writeFD, "sub/new", writeFD, "other/new"))
	step("linkat", unix.Linkat(writeFD, "other/new", writeFD, "sub/linked", 0))
	step("renameat2", unix.Renameat2(writeFD, "other/new", writeFD, "sub/renamed", unix.RENAME_NOREPLACE))
	step("symlinkat", unix.Symlinkat("renamed", writeFD, "sub/link"))
	_, err = unix.Readlinkat(writeFD, "sub/link", make([]byte, 16))
	step("readlinkat", err)
	step("mkdirat", unix.Mkdirat(writeFD, "sub/dir", 0o755))
	step("rmdir", unix.Unlinkat(writeFD, "sub/dir", unix.AT_REMOVEDIR))
	step("unlinkat", unix.Unlinkat(writeFD, "sub/linked", 0))
	step("stat", statAt(writeFD, "sub/renamed"))
	step("statx", unix.Statx(writeFD, "sub", 0, unix.STATX_BASIC_STATS, new(unix.Statx_t)))
	step("getdents64", listAt(writeFD, "."))
	_, err = unix.Seek(fd, 0, io.SeekStart)
	step("lseek", err)
	return errors.Join(errs...)
}

// copyFile copies with os.File, which tries copy_file_range first.
func copyFile() error {
	from, err := unix.Openat(readFD, "file", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	source := os.NewFile(uintptr(from), "from")
	defer source.Close()
	to, err := unix.Openat2(writeFD, "copy", &beneath)
	if err != nil {
		return err
	}
	target := os.NewFile(uintptr(to), "to")
	defer target.Close()
	n, err := io.Copy(target, source)
	if err == nil && n != int64(len("file")) {
		err = fmt.Errorf("copied %d bytes", n)
	}
	return err
}

// pipe reads the standard input.
func pipe() error {
	got, err := io.ReadAll(os.Stdin)
	if err == nil && string(got) != "piped" {
		err = fmt.Errorf("read %q from standard input", got)
	}
	return err
}

// readCode reads a file of the directory Root by its absolute path in the new root, or by the old path if the root is
// unchanged.
func readCode(j job, r Report) error {
	name := j.Base + "/root/code"
	if r.Active(LayerRoot) {
		name = "/code"
	}
	_, err := os.ReadFile(name)
	return err
}

func osFile(r Report) error {
	entries, err := os.ReadDir(".")
	if r.Active(LayerRoot) && (err != nil || len(entries) != 1) {
		return fmt.Errorf("%d entries in the root, %w", len(entries), err)
	}
	return nil
}

func identity(j job) error {
	if os.Getuid() != j.User {
		return fmt.Errorf("the process runs as user %d", os.Getuid())
	}
	return nil
}

func init() {
	scenarios["poller"] = func(job) (Report, map[string]string, error) {
		before := hasPoller()
		startPoller()
		return nil, map[string]string{"before": fmt.Sprint(before), "after": fmt.Sprint(hasPoller())}, nil
	}
}

// hasPoller reports whether this process has an epoll instance. It opens no file, which would create one.
func hasPoller() bool {
	link := make([]byte, 64)
	for fd := range 64 {
		n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), link)
		if err == nil && string(link[:n]) == "anon_inode:[eventpoll]" {
			return true
		}
	}
	return false
}

// TestPollerIsCreatedBeforeTheFilter checks startPoller in a process that has opened no file before.
func TestPollerIsCreatedBeforeTheFilter(t *testing.T) {
	results := run(t, job{Scenario: "poller"}, options{}).Results
	if results["before"] != "false" || results["after"] != "true" {
		t.Errorf("the network poller exists: before startPoller %s, after %s", results["before"], results["after"])
	}
}
