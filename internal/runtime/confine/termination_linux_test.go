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
	"strings"
	"syscall"
	"testing"
	"time"

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
		Prepare(cmd, Options{NoNamespaces: len(j.Only) == 1})
		if len(j.Only) == 1 {
			cmd.SysProcAttr.Pdeathsig = 0
		}
		return nil, nil, cmd.Run()
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
		"spin":               {Config{CPU: time.Second}, func(s syscall.WaitStatus) bool { return s.Signal() == syscall.SIGKILL }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, _ := command(t, &job{Scenario: name, Config: test.config}, Options{})
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
