package confine

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const threads = 24

func init() {
	scenarios["threads"] = func(j job) (Report, map[string]string, error) {
		var ready, done sync.WaitGroup
		release := make(chan struct{})
		results := map[string]string{}
		var mu sync.Mutex
		for i := range threads {
			ready.Add(1)
			done.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				thread := unix.Gettid()
				ready.Done()
				<-release
				escaped := escapes(j)
				mu.Lock()
				defer mu.Unlock()
				results[fmt.Sprintf("%d (thread %d of %d)", i, thread, os.Getpid())] = escaped
			})
		}
		ready.Wait()
		report, err := Apply(j.Config)
		close(release)
		done.Wait()
		return report, results, err
	}
}

// escapes returns the names of forbidden actions that the calling thread can perform.
func escapes(j job) string {
	found := ""
	if readAt(unix.AT_FDCWD, j.Base+"/secret") == nil {
		found += "reads a file; "
	}
	if socket(unix.AF_UNIX) == nil {
		found += "creates a socket; "
	}
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil && set == 0 {
		found += "may gain privileges; "
	}
	if bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0); err == nil && bits&noRoot == 0 {
		found += "may regain capabilities; "
	}
	if hasCapability(unix.CAP_SYS_CHROOT) {
		found += "has a capability; "
	}
	return found
}

// TestNoThreadEscapes starts threads before Apply. It applies each per-thread layer alone, because one layer could hide that
// another is missing. seccomp also denies reading the capabilities.
func TestNoThreadEscapes(t *testing.T) {
	for _, l := range run(t, job{Scenario: "probe"}, Options{NoNamespaces: true}).Report.Missing() {
		if l.Name == LayerRoot || l.Name == LayerLandlock || l.Name == LayerSeccomp {
			t.Skipf("%s is missing: %s", l.Name, l.Reason)
		}
	}
	for _, test := range []struct {
		only []string
		want string
	}{
		{[]string{}, "reads a file; creates a socket; may gain privileges; may regain capabilities; has a capability; "},
		{[]string{LayerNoNewPrivs}, "reads a file; creates a socket; may regain capabilities; has a capability; "},
		{[]string{LayerCapabilities}, "reads a file; creates a socket; may gain privileges; "},
		{[]string{LayerNoNewPrivs, LayerLandlock}, "creates a socket; may regain capabilities; has a capability; "},
		{[]string{LayerSeccomp, LayerNoNewPrivs}, "reads a file; "},
		{nil, ""},
	} {
		// Namespaces give capabilities to a user other than 0.
		answer := run(t, job{Scenario: "threads", Only: test.only}, Options{})
		if len(answer.Results) != threads {
			t.Fatalf("%d threads answered", len(answer.Results))
		}
		for thread, got := range answer.Results {
			if got != test.want {
				t.Errorf("with %v, %s: %q, want %q", test.only, thread, got, test.want)
			}
		}
	}
}
