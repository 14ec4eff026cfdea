package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func init() {
	scenarios["apply"] = func(j job) (Report, map[string]string, error) {
		start := time.Now()
		report, err := Apply(j.Config)
		took := time.Since(start)
		return report, map[string]string{
			"took":        strconv.FormatInt(took.Microseconds(), 10),
			"environment": strings.Join(os.Environ(), " "),
			"new file":    text(openAt(writeFD, "new", syscall.O_CREAT|syscall.O_WRONLY)),
			"old file":    text(openAt(readFD, "file", syscall.O_RDONLY)),
			"stderr":      text(unix.Fstat(2, new(unix.Stat_t))),
		}, err
	}
}

func init() {
	scenarios["wait"] = func(j job) (Report, map[string]string, error) {
		report, err := Apply(j.Config)
		if err == nil {
			fmt.Println("waiting")
			_, err = io.Copy(io.Discard, os.Stdin)
		}
		return report, nil, err
	}
}

func text(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestProbeAgreesWithApply(t *testing.T) {
	testenv.NotShort(t, "starts many processes")
	probed := run(t, job{Scenario: "probe"}, options{noNamespaces: true}).Report
	applied := run(t, job{Scenario: "apply"}, options{}).Report
	if len(probed) != len(applied) {
		t.Fatalf("Probe has %d layers, Apply %d", len(probed), len(applied))
	}
	for i, p := range probed {
		if a := applied[i]; a.Name != p.Name || a.State != p.State {
			t.Errorf("Probe says %+v, Apply %+v", p, a)
		}
	}
}

func TestApplyRefusesInvalidHandles(t *testing.T) {
	file := handle(t, filepath.Join(fixture(t), "secret"), syscall.O_RDONLY)
	for _, fd := range []int{int(file.Fd()), 1 << 20, -1} {
		if report, err := Apply(Config{Dirs: []Dir{{FD: fd}}}); err == nil {
			t.Fatalf("the invalid descriptor %d is accepted: %v", fd, report)
		}
	}
}

// TestDeletedDirectoryLeavesOtherHandlesUsable deletes a directory, so that its handle has no path and cannot be cloned.
func TestDeletedDirectoryLeavesOtherHandlesUsable(t *testing.T) {
	j := job{Scenario: "apply"}
	cmd, _ := command(t, &j, options{})
	must(t, os.RemoveAll(filepath.Join(j.Base, "read")))
	out, err := cmd.Output()
	must(t, err)
	answer := decode(t, out)
	if answer.Report.Active(LayerHandles) {
		t.Error("the handle of a deleted directory counts as replaced")
	}
	if answer.Results["new file"] != "" {
		t.Errorf("cannot create a file in the writable directory: %s", answer.Results["new file"])
	}
}

// TestHandleIsNotReplacedByDirectoryOfItsName creates a directory with the name that /proc/self/fd has for the handle of a deleted one.
func TestHandleIsNotReplacedByDirectoryOfItsName(t *testing.T) {
	j := job{Scenario: "apply"}
	cmd, _ := command(t, &j, options{})
	must(t, os.RemoveAll(filepath.Join(j.Base, "read")))
	must(t, os.Mkdir(filepath.Join(j.Base, "read (deleted)"), 0o755))
	must(t, os.WriteFile(filepath.Join(j.Base, "read (deleted)", "file"), nil, 0o644))
	out, err := cmd.Output()
	must(t, err)
	answer := decode(t, out)
	if answer.Report.Active(LayerHandles) || answer.Results["old file"] == "" {
		t.Errorf("the handle leads to another directory: %v", answer.Report)
	}
	// Without namespaces, no mount can be cloned at all.
	if why := Describe(answer.Report.Missing()); !strings.Contains(why, "is not the directory of the handle") && answer.Report.Active(LayerNamespaces) {
		t.Errorf("missing: %s", why)
	}
}

func TestConfinedProcessHasNoEnvironment(t *testing.T) {
	t.Setenv("BULKHEAD_SECRET", "1")
	got := run(t, job{Scenario: "apply"}, options{}).Results
	if got["environment"] != "" {
		t.Errorf("the environment is %q, want it empty", got["environment"])
	}
	if got["stderr"] != "" || got["old file"] != "" || got["new file"] != "" {
		t.Errorf("what the config keeps: %v", got)
	}
}

// observe starts a process that applies the layers and waits. It calls look with the process's directory in /proc.
func observe(t *testing.T, only []string, look func(proc string)) {
	t.Helper()
	cmd, _ := command(t, &job{Scenario: "wait", Only: only}, options{noNamespaces: true})
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = stdout.Read(make([]byte, 64))
	must(t, err)
	look("/proc/" + strconv.Itoa(cmd.Process.Pid))
	must(t, stdin.Close())
	_, err = io.Copy(io.Discard, stdout)
	must(t, err)
	must(t, cmd.Wait())
}

func TestOtherProcessesCannotReadMemory(t *testing.T) {
	if testenv.AsNobody(t) { // root reads the memory of any process
		return
	}
	readable := func(only []string) (err error) {
		observe(t, only, func(proc string) { err = openAt(-1, proc+"/mem", syscall.O_RDONLY) })
		return err
	}
	must(t, readable([]string{}))
	if err := readable([]string{LayerNoDump}); err == nil {
		t.Error("the host reads the memory of a process with no_dump")
	}
}

func TestConfinedProcessHasRaisedOOMScore(t *testing.T) {
	observe(t, nil, func(proc string) {
		score, err := os.ReadFile(proc + "/oom_score_adj")
		must(t, err)
		if got := strings.TrimSpace(string(score)); got != strconv.Itoa(oomScore) {
			t.Errorf("oom_score_adj is %s, want %d", got, oomScore)
		}
	})
}

// TestPrepareSurvivesRefusedNamespaces uses a flag that the kernel refuses in every combination.
func TestPrepareSurvivesRefusedNamespaces(t *testing.T) {
	if err := tryNamespaces(syscall.CLONE_THREAD); err == nil {
		t.Fatal("the kernel accepts a thread without shared memory")
	}
	cmd := exec.Command("true")
	layer := prepare(cmd, options{noNamespaces: true})
	if layer.State != Missing || cmd.SysProcAttr.Cloneflags != 0 || cmd.SysProcAttr.UidMappings != nil {
		t.Errorf("got the layer %+v and the attributes %+v, want no namespaces", layer, cmd.SysProcAttr)
	}
}

// TestNamespacesAreFoundOnce pins that a process gets no weaker confinement than an earlier one of the same host.
func TestNamespacesAreFoundOnce(t *testing.T) {
	var answers []error
	n := namespaces{try: func(uintptr) error {
		err := answers[0]
		answers = answers[1:]
		return err
	}}
	steps := []struct {
		name  string
		tries []error
		flags uintptr
	}{
		{"no process can be created now", []error{fmt.Errorf("try: %w", unix.EAGAIN)}, allNamespaces},
		{"no memory is free now", []error{unix.ENOMEM}, allNamespaces},
		{"permitted", []error{nil}, allNamespaces},
		{"found, so not tried again", nil, allNamespaces},
	}
	for _, step := range steps {
		answers = step.tries
		if flags, err := n.available(); err != nil || flags != step.flags || len(answers) > 0 {
			t.Errorf("%s: got %#x, %v, want %#x; %d tries are left", step.name, flags, err, step.flags, len(answers))
		}
	}
	for name, c := range map[string]struct {
		superuser  bool
		users      error // of all namespaces
		other      error // of those but the user namespace
		flags      uintptr
		err        error
		found      bool
		wantsTries int
	}{
		"refused":                                    {false, unix.EPERM, nil, 0, unix.EPERM, true, 1},
		"refused to the superuser":                   {true, unix.EPERM, unix.EACCES, 0, unix.EPERM, true, 2},
		"no user namespace for the superuser":        {true, unix.EPERM, nil, otherNamespaces, nil, true, 2},
		"the second try is interrupted":              {true, unix.EPERM, unix.EINTR, allNamespaces, nil, false, 2},
		"interrupted":                                {true, unix.EINTR, nil, allNamespaces, nil, false, 1},
		"without descriptors, as another user":       {false, unix.EMFILE, nil, allNamespaces, nil, false, 1},
		"permitted, although others would not be":    {true, nil, unix.EPERM, allNamespaces, nil, true, 1},
		"permitted, and the process is no superuser": {false, nil, nil, allNamespaces, nil, true, 1},
	} {
		tries := 0
		n := namespaces{superuser: c.superuser, try: func(flags uintptr) error {
			tries++
			if flags == allNamespaces {
				return c.users
			}
			return c.other
		}}
		if flags, err := n.available(); flags != c.flags || !errors.Is(err, c.err) || n.found != c.found || tries != c.wantsTries {
			t.Errorf("%s: got %#x, %v after %d tries, found: %t", name, flags, err, tries, n.found)
		}
	}
}

// TestStartExplainsLackOfNamespaces checks the error where another process uses the last namespace.
func TestStartExplainsLackOfNamespaces(t *testing.T) {
	cmd := exec.Command("true")
	if layer := Prepare(cmd); layer.State != Active {
		t.Skip(layer.Reason)
	}
	limited := exec.Command(program(t), "confined", `{"Scenario": "no more namespaces"}`)
	limited.SysProcAttr = &syscall.SysProcAttr{}
	setNamespaces(limited.SysProcAttr, unix.CLONE_NEWUSER)
	limited.SysProcAttr.AmbientCaps = append(limited.SysProcAttr.AmbientCaps, unix.CAP_SYS_RESOURCE)
	limited.Stderr = os.Stderr
	out, err := limited.Output()
	must(t, err)
	if got := decode(t, out).Results; !strings.Contains(got["start"], "user.max_user_namespaces") || got["transient"] != "true" {
		t.Errorf("Start without a free namespace: %q", got)
	}
}

func init() {
	scenarios["no more namespaces"] = func(job) (Report, map[string]string, error) {
		cmd := exec.Command("/proc/self/exe", "confined", `{"Scenario": "probe"}`)
		layer := Prepare(cmd) // while there are namespaces
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return nil, nil, err
		}
		err := Start(cmd)
		return nil, map[string]string{"prepare": layer.State, "start": text(err), "transient": strconv.FormatBool(IsTransient(err))}, nil
	}
}

// BenchmarkStart reports the run time of a process that only calls Apply, and the time of Apply.
func BenchmarkStart(b *testing.B) {
	for name, test := range map[string]struct {
		only    []string
		options options
	}{
		"unconfined":  {[]string{}, options{noNamespaces: true}},
		"namespaces":  {[]string{}, options{}},
		"all layers":  {nil, options{}},
		"landlock":    {[]string{LayerNoNewPrivs, LayerLandlock}, options{noNamespaces: true}},
		"seccomp":     {[]string{LayerNoNewPrivs, LayerSeccomp}, options{noNamespaces: true}},
		"capability":  {[]string{LayerCapabilities}, options{}},
		"mounts":      {[]string{LayerHandles, LayerRoot}, options{}},
		"descriptors": {[]string{LayerDescriptors}, options{noNamespaces: true}},
	} {
		b.Run(name, func(b *testing.B) {
			total := 0
			for b.Loop() {
				took, err := strconv.Atoi(run(b, job{Scenario: "apply", Only: test.only}, test.options).Results["took"])
				must(b, err)
				total += took
			}
			b.ReportMetric(float64(total)/float64(b.N), "µs-apply/op")
		})
	}
}

// A process without namespaces must not be reported to have them: confinement = "required" is decided by the report.
func TestPrepareReportsMissingNamespaces(t *testing.T) {
	set := func(found bool, flags uintptr, err error) {
		permitted.mu.Lock()
		defer permitted.mu.Unlock()
		permitted.found, permitted.flags, permitted.err = found, flags, err
	}
	defer set(false, 0, nil)
	for name, c := range map[string]struct {
		flags uintptr
		err   error
		want  Layer
	}{
		"refused":                  {0, errors.New("the system refuses"), Layer{LayerNamespaces, Missing, "the system refuses"}},
		"all":                      {allNamespaces, nil, Layer{LayerNamespaces, Active, ""}},
		"all but a user namespace": {otherNamespaces, nil, Layer{LayerNamespaces, Active, ""}},
	} {
		set(true, c.flags, c.err)
		cmd := exec.Command("none")
		cmd.Env = []string{"SECRET=1"}
		if got := Prepare(cmd); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		a := cmd.SysProcAttr
		if a.Cloneflags != c.flags || (len(a.UidMappings) == 1) != (c.flags&unix.CLONE_NEWUSER != 0) || (len(a.AmbientCaps) > 0) != (c.flags != 0) {
			t.Errorf("%s: got the attributes %+v", name, a)
		}
		if !a.Setpgid || a.Pdeathsig != unix.SIGKILL || len(cmd.Env) > 0 {
			t.Errorf("%s: got the environment %q and the attributes %+v", name, cmd.Env, a)
		}
	}
}

// A service manager's filter kills a process by default. The thread with the filter ends with its goroutine.
func TestFilterThatKillsIsRefusalOfNamespaces(t *testing.T) {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		kill := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CHROOT, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		program := unix.SockFprog{Len: uint16(len(kill)), Filter: &kill[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			result <- err
			return
		}
		if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
			result <- errno
			return
		}
		result <- tryNamespaces(allNamespaces)
	}()
	if err := <-result; err == nil || !strings.Contains(err.Error(), "the process that tried was ended: bad system call") {
		t.Errorf("got %v", err)
	}
}
