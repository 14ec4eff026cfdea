package confine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// job is the request to a confined child. It is passed as an argument, because the environment is empty.
type job struct {
	Scenario string
	Only     []string // the layers to apply; all if nil
	Base     string   // the directory of the fixture, with write, read, root and secret
	Victim   int      // a process of the same user
	User     int      // the expected user ID of the child
	Port     int      // a listening TCP port on 127.0.0.1
	Abstract string   // the name of a listening abstract socket
	Config   Config

	// Scenario policy: system calls that fail with Errno; with When, only if an argument has a value.
	Refused []uint32
	Errno   syscall.Errno
	When    *argument
	Handle  int // the only directory; 0: all of them
}

// argument is a value of an argument of a system call.
type argument struct{ Index, Value uint32 }

// Descriptors of the child.
const (
	writeFD = 3 + iota
	readFD
	rootFD
	socketFD
	leakedFD
)

// outcome is the child's answer.
type outcome struct {
	Report  Report
	Results map[string]string // error texts; "" for success
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "confined" {
		os.Exit(child(os.Args[2]))
	}
	os.Exit(m.Run())
}

func child(argument string) int {
	var j job
	if err := json.Unmarshal([]byte(argument), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	if j.Only != nil {
		j.Config.off = map[string]bool{}
		for _, l := range Probe() {
			j.Config.off[l.Name] = !slices.Contains(j.Only, l.Name)
		}
	}
	var o outcome
	var err error
	if o.Report, o.Results, err = scenarios[j.Scenario](j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		return 3
	}
	return 0
}

var scenarios = map[string]func(job) (Report, map[string]string, error){}

// checks runs functions in the order of their names and collects their errors.
func checks(of map[string]func() error) map[string]string {
	results := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		results[name] = ""
		if err := of[name](); err != nil {
			results[name] = err.Error()
		}
	}
	return results
}

// program returns the path of this test binary.
func program(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	return exe
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture creates the directories and files for a child.
func fixture(t testing.TB) string {
	t.Helper()
	base := t.TempDir()
	for _, dir := range []string{"write/sub", "write/other", "read", "root"} {
		must(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	for _, file := range []string{"secret", "write/file", "write/sub/inner", "read/file", "root/code"} {
		must(t, os.WriteFile(filepath.Join(base, file), []byte(filepath.Base(file)), 0o644))
	}
	return base
}

// command prepares a child with all descriptors. The returned socket is the host's end.
func command(t testing.TB, j *job, o options) (*exec.Cmd, *os.File) {
	t.Helper()
	if j.Base == "" {
		j.Base = fixture(t)
	}
	j.Config.Dirs = []Dir{{FD: writeFD, Write: true}, {FD: readFD}}
	j.Config.Root = &Dir{FD: rootFD}
	j.Config.Keep = []int{socketFD}
	if j.Config.Threads == 0 {
		j.Config.Threads = 200
	}
	if j.Only != nil && !slices.Contains(j.Only, LayerDescriptors) {
		j.Config.Keep = append(j.Config.Keep, leakedFD)
	}
	argument, err := json.Marshal(j)
	must(t, err)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(t, err)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	cmd := exec.CommandContext(context.Background(), program(t), "confined", string(argument))
	cmd.ExtraFiles = []*os.File{
		handle(t, filepath.Join(j.Base, "write"), syscall.O_RDONLY|syscall.O_DIRECTORY),
		handle(t, filepath.Join(j.Base, "read"), oPath|syscall.O_DIRECTORY),
		handle(t, filepath.Join(j.Base, "root"), oPath|syscall.O_DIRECTORY),
		theirs,
		handle(t, filepath.Join(j.Base, "secret"), syscall.O_RDONLY),
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	cmd.Stderr = os.Stderr
	if layer := prepare(cmd, o); layer.State != Active && !o.noNamespaces {
		t.Logf("namespaces: %s", layer.Reason)
	}
	return cmd, ours
}

const oPath = 0x200000

func handle(t testing.TB, path string, flags int) *os.File {
	t.Helper()
	fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC, 0)
	must(t, err)
	f := os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { f.Close() })
	return f
}

// run starts a child and returns its answer.
func run(t testing.TB, j job, o options) outcome {
	t.Helper()
	cmd, _ := command(t, &j, o)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", j.Scenario, j.Only, err)
	}
	return decode(t, out)
}

func decode(t testing.TB, answer []byte) outcome {
	t.Helper()
	var o outcome
	if err := json.Unmarshal(answer, &o); err != nil {
		t.Fatalf("%v in %q", err, answer)
	}
	return o
}
