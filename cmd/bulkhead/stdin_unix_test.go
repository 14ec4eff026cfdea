//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestPolledReadsPipesAndSockets(t *testing.T) {
	for name, open := range map[string]func(*[2]int) error{
		"pipe": func(fds *[2]int) error { return syscall.Pipe(fds[:]) },
		"socket": func(fds *[2]int) (err error) {
			*fds, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var fds [2]int
			if err := open(&fds); err != nil {
				t.Fatal(err)
			}
			in, out := os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(fds[1]), "out")
			defer in.Close()
			r := newPolled(in)
			if _, ok := r.(*polled); !ok {
				t.Fatalf("newPolled returned a %T, want a *polled", r)
			}
			if flags, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
				t.Errorf("the file is in non-blocking mode: flags %#x, %v", flags, err)
			}
			go func() {
				for _, text := range []string{"first ", "second"} {
					time.Sleep(time.Millisecond) // Read is to wait for the data
					_, _ = out.WriteString(text)
				}
				_ = out.Close()
			}()
			if text, err := io.ReadAll(r); err != nil || string(text) != "first second" {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
}

func TestRegularFileIsNotPolled(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "input"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if r := newPolled(file); r != io.Reader(file) {
		t.Errorf("newPolled returned a %T, want the file itself", r)
	}
}
