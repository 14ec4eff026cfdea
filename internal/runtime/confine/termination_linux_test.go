package confine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func init() {
	confined := func(do func()) func(job) (Report, map[string]string, error) {
		return func(j job) (Report, map[string]string, error) {
			report, err := Apply(j.Config)
			if err == nil {
				do()
			}
			return report, map[string]string{}, err
		}
	}
	scenarios["allocate"] = confined(func() {
		var kept [][]byte
		for range 1024 {
			kept = append(kept, make([]byte, 4<<20))
		}
		fmt.Fprintln(os.Stderr, len(kept), "blocks")
	})
	scenarios["write a large file"] = confined(func() {
		_ = withFile(writeFD, "file", unix.O_WRONLY, func(fd int) error {
			for range 1024 {
				if _, err := unix.Write(fd, make([]byte, 1<<20)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(9)
				}
			}
			return nil
		})
	})
	scenarios["spin"] = confined(spin)
	scenarios["start threads"] = confined(func() { startThreads(2000) })
	scenarios["hide memory from RLIMIT_DATA"] = confined(func() {
		// RLIMIT_DATA counts memory while it is writable. The page tables of untouched memory would not count either.
		for mapped := 0; mapped < 8<<30; mapped += 32 << 20 {
			b, err := unix.Mmap(-1, 0, 32<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err == nil {
				err = unix.Mprotect(b, unix.PROT_READ)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(9)
			}
		}
	})
	scenarios["host"] = func(j job) (Report, map[string]string, error) {
		// Act as a host that starts a confined process, prints the process ID, and keeps running.
		exe, err := os.Executable()
		if err != nil {
			return nil, nil, err
		}
		j.Scenario = "spin"
		argument, err := json.Marshal(j)
		if err != nil {
			return nil, nil, err
		}
		cmd := exec.Command(exe, "confined", string(argument))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		prepare(cmd, options{noNamespaces: len(j.Only) == 1})
		if len(j.Only) == 1 {
			cmd.SysProcAttr.Pdeathsig = 0
		}
		return nil, nil, cmd.Run()
	}
}

func startThreads(count int) {
	for range count {
		started := make(chan bool)
		go func() {
			runtime.LockOSThread()
			close(started)
			select {}
		}()
		<-started
	}
}

// spin prints a line to stdout and loops forever.
func spin() {
	for range 8 {
		go func() {
			for i := 0; ; i++ {
			}
		}()
	}
	fmt.Fprintln(os.Stdout, "spinning")
	select {}
}

func TestExceededLimitTerminatesTheProcess(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		status func(syscall.WaitStatus) bool
		stderr string
	}{
		"allocate": {Config{Memory: 256 << 20}, func(s syscall.WaitStatus) bool { return s.ExitStatus() == 2 }, "memory"},
		// The Go runtime ignores SIGXFSZ: the write returns EFBIG.
		"write a large file": {Config{FileSize: 3 << 20}, func(s syscall.WaitStatus) bool { return s.ExitStatus() == 9 }, "file too large"},
		// The Go runtime ends the process with 2 if it needs memory before the scenario has ended it.
		"hide memory from RLIMIT_DATA": {Config{Memory: 256 << 20, AddressSpace: 1 << 30}, func(s syscall.WaitStatus) bool { return s.ExitStatus() == 9 || s.ExitStatus() == 2 }, "cannot allocate"},
		"start threads":                {Config{Threads: 100}, func(s syscall.WaitStatus) bool { return s.ExitStatus() == 2 }, "create"}, // cgo and Go word it differently
		"spin":                         {Config{CPU: time.Second}, func(s syscall.WaitStatus) bool { return s.Signal() == syscall.SIGKILL }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.config.Threads > 0 && !Probe().Active(LayerThreads) {
				t.Skipf("%s is missing", LayerThreads)
			}
			cmd, _ := command(t, &job{Scenario: name, Config: test.config}, options{})
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !test.status(exit.Sys().(syscall.WaitStatus)) {
				t.Errorf("the process ended with %v", err)
			}
			if first, _, _ := strings.Cut(stderr.String(), "\n"); !strings.Contains(first, test.stderr) {
				t.Errorf("first line of the standard error: %q", first)
			}
		})
	}
}

// TestParentDeathTerminatesTheProcess kills a host whose confined process spins. That process has the write end of a
// pipe, so EOF on the read end shows that it has terminated.
func TestParentDeathTerminatesTheProcess(t *testing.T) {
	for name, only := range map[string][]string{
		"all layers":           nil,
		"set by Apply alone":   {LayerParentDeath},
		"set by Prepare alone": {},
	} {
		t.Run(name, func(t *testing.T) {
			argument, err := json.Marshal(job{Scenario: "host", Only: only})
			must(t, err)
			r, w, err := os.Pipe()
			must(t, err)
			defer r.Close()
			cmd := exec.Command(program(t), "confined", string(argument))
			cmd.Stdout, cmd.Stderr = w, os.Stderr
			must(t, cmd.Start())
			w.Close()
			lines := bufio.NewReader(r)
			line, err := lines.ReadString('\n')
			must(t, err)
			if line != "spinning\n" {
				t.Fatalf("the process printed %q", line)
			}
			must(t, cmd.Process.Kill())
			_ = cmd.Wait()
			_, err = io.Copy(io.Discard, lines) // blocks until the test times out if the process is still alive
			must(t, err)
		})
	}
}

func init() {
	scenarios["limits"] = func(j job) (Report, map[string]string, error) {
		report, err := Apply(j.Config)
		if err != nil {
			return nil, nil, err
		}
		results := map[string]string{}
		for name, resource := range map[string]int{
			"queued signals": unix.RLIMIT_SIGPENDING, "locked memory": unix.RLIMIT_MEMLOCK, "message queues": unix.RLIMIT_MSGQUEUE,
			"threads": unix.RLIMIT_NPROC, "core": unix.RLIMIT_CORE,
		} {
			var l unix.Rlimit
			if err := unix.Prlimit(0, resource, nil, &l); err != nil {
				return nil, nil, err
			}
			results[name] = fmt.Sprint(l.Cur, " ", l.Max)
		}
		return report, results, nil
	}
}

// TestConfinedProcessHasKernelLimits compares the limits of what the kernel stores for the user of a confined process.
func TestConfinedProcessHasKernelLimits(t *testing.T) {
	answer := run(t, job{Scenario: "limits", Config: Config{Threads: 123}}, options{})
	want := map[string]string{"queued signals": "256 256", "locked memory": "0 0", "message queues": "0 0", "core": "0 0"}
	if answer.Report.Active(LayerNamespaces) && isAtLeast(kernelRelease(), 5, 14) {
		want["threads"] = "123 123"
	} else {
		delete(answer.Results, "threads")
	}
	if diff := cmp.Diff(want, answer.Results); diff != "" {
		t.Errorf("limits (-want +got)\n%s", diff)
	}
}

// TestLimitOfThreadsIsOfOneProcess runs two confined processes that have more threads together than each may have.
func TestLimitOfThreadsIsOfOneProcess(t *testing.T) {
	before, err := os.ReadFile(highestPID)
	must(t, err)
	if !Probe().Active(LayerThreads) {
		t.Skipf("%s is missing", LayerThreads)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			answer := run(t, job{Scenario: "threads", Config: Config{Threads: 60}}, options{})
			if len(answer.Results) != 2*lockedThreads {
				t.Errorf("%d threads answered", len(answer.Results))
			}
		})
	}
	all.Wait()
	after, err := os.ReadFile(highestPID)
	must(t, err)
	if string(before) != string(after) {
		t.Errorf("the highest process ID of the system changed from %s to %s", before, after)
	}
}
