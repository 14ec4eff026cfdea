package confine

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// The versions of Linux are in digits here, as in docs/security.md.

func TestLandlockUsesWhatKernelSupports(t *testing.T) {
	const files1, fixed = 1<<13 - 1, 1 << 1 // the 13 rights of ABI 1, and the bit of the erratum
	for name, c := range map[string]struct {
		abi, errata          int
		files, net, scoped   uint64
		note, network, scope string // the note, and reasons of missing layers
	}{
		"ABI 1":                     {1, 0, files1, 0, 0, "ABI 1; renames and links across directories fail with EXDEV; truncate is not restricted", "ABI 4 (Linux 6.7)", "ABI 6 (Linux 6.12)"},
		"ABI 2":                     {2, 0, files1 | 1<<13, 0, 0, "ABI 2; truncate is not restricted", "ABI 4 (Linux 6.7)", "ABI 6 (Linux 6.12)"},
		"ABI 3":                     {3, 0, files1 | 3<<13, 0, 0, "ABI 3", "ABI 4 (Linux 6.7)", "ABI 6 (Linux 6.12)"},
		"ABI 4":                     {4, 0, files1 | 3<<13, 3, 0, "ABI 4", "", "ABI 6 (Linux 6.12)"},
		"ABI 5":                     {5, fixed, files1 | 7<<13, 3, 0, "ABI 5", "", "ABI 6 (Linux 6.12)"},
		"ABI 6":                     {6, 1, files1 | 7<<13, 3, 1, "ABI 6", "", ""},
		"ABI 6 without the erratum": {6, fixed, files1 | 7<<13, 3, 3, "ABI 6", "", ""},
		"a later ABI":               {9, fixed | 1, files1 | 7<<13, 3, 3, "ABI 9", "", ""},
	} {
		o := offerOf(c.abi, c.errata)
		if o.rules.Handled_access_fs != c.files || o.rules.Handled_access_net != c.net || o.rules.Scoped != c.scoped || o.fileNote != c.note || o.files != nil {
			t.Errorf("%s: got %+v", name, o)
		}
		for layer, got := range map[string]error{c.network: o.network, c.scope: o.scope} {
			if (got == nil) != (layer == "") || got != nil && !strings.Contains(got.Error(), layer) {
				t.Errorf("%s: got the reason %v, want %q", name, got, layer)
			}
		}
		if (o.scopeNote != "") != (c.scoped == 1) {
			t.Errorf("%s: got the note %q", name, o.scopeNote)
		}
	}
}

func TestKernelReleases(t *testing.T) {
	for release, want := range map[string]bool{
		"6.14.0-29-generic": true, "6.14": true, "6.15.1": true, "7.0.0-rc1": true, "10.2.3": true, "7": true,
		"6.13.12": false, "6.2.0": false, "5.15.0": false, "": false, "6": false, "x.y": false, "-": false,
	} {
		if got := isAtLeast(release, 6, 14); got != want {
			t.Errorf("%q: got %t, want %t", release, got, want)
		}
	}
	if !isAtLeast(kernelRelease(), 2, 6) {
		t.Errorf("the release of this kernel is %q", kernelRelease())
	}
}

// A process whose threads the kernel does not limit must not be reported as limited: confinement = "required" is decided by the report.
func TestLimitOfThreadsDependsOnKernel(t *testing.T) {
	for name, c := range map[string]struct {
		release             string
		superuser, ownUsers bool
		byUser, byID        bool
		err                 error
	}{
		"a user":                              {"6.14.0", false, true, true, true, nil},
		"a user, before 6.14":                 {"6.13.0", false, true, true, false, nil},
		"a user, before 5.14":                 {"5.13.0", false, true, false, false, missingError(oldThreadLimit)},
		"a user without a namespace":          {"6.13.0", false, false, false, false, missingError(oldThreadLimit)},
		"the superuser":                       {"6.14.0", true, true, true, true, nil},
		"the superuser without own users":     {"6.14.0", true, false, false, true, nil},
		"the superuser, before 6.14":          {"6.13.0", true, true, true, false, missingError(superuserThreads)},
		"the superuser with an old namespace": {"6.13.0", true, false, false, false, missingError(superuserThreads)},
	} {
		if byUser, byID, err := threadCounters(c.release, c.superuser, c.ownUsers); byUser != c.byUser || byID != c.byID || !errors.Is(err, c.err) {
			t.Errorf("%s: got %t, %t, %v; want %t, %t, %v", name, byUser, byID, err, c.byUser, c.byID, c.err)
		}
	}
	if err := probeThreads(missingError("refused")); !errors.Is(err, missingError(noThreadLimit)) {
		t.Errorf("without namespaces: got %v", err)
	}
}

// A layer that is missing ends the start if the system supports the layer, or if all are required.
func TestReportWithMissingLayerIsRefused(t *testing.T) {
	whole := Report{{Name: LayerNoDump, State: Active}, {Name: "unknown", State: Active}}
	unsupported := Report{{Name: LayerNoDump, State: Active}, {"unknown", Missing, "no kernel has it"}}
	unexpected := Report{{LayerNoDump, Missing, "a race"}, {Name: "unknown", State: Active}}
	for name, c := range map[string]struct {
		report   Report
		required bool
		want     string // of the error; empty if there is none
	}{
		"all layers":                     {whole, false, ""},
		"all layers, which are required": {whole, true, ""},
		"one that the system lacks":      {unsupported, false, ""},
		"that one, if required":          {unsupported, true, "lacks layers of confinement: unknown (no kernel has it)"},
		"one that the system has":        {unexpected, false, "layers are missing that this system supports: no_dump (a race)"},
		"one that it has, if required":   {unexpected, true, "lacks layers of confinement: no_dump (a race)"},
	} {
		if err := c.report.Check(c.required); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if whole.Active("absent") || !whole.Active(LayerNoDump) || unexpected.Active(LayerNoDump) {
		t.Error("the active layers")
	}
}

func TestThreadsThatCannotBeCountedAreNotRestricted(t *testing.T) {
	unknown := missingError("unknown")
	uncounted := threads{withCgo: true, missing: unknown}
	if err := uncounted.call(unix.SYS_GETPID, 0, 0, 0); !errors.Is(err, unknown) {
		t.Errorf("got %v, want %v", err, unknown)
	}
	uncounted.close()
	threads{}.close()
	if err := unix.Fstat(0, new(unix.Stat_t)); err != nil {
		t.Errorf("a descriptor was closed that is none of threads: %v", err)
	}
	counted := countedThreads("/proc/self/task")
	counted.close()
	if _, err := unix.FcntlInt(uintptr(counted.tasks), unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("the descriptor of /proc stays open: %v", err)
	}
}

func TestLayersThatConfigLeavesOutAreMissing(t *testing.T) {
	a, limited := &application{}, &application{Config: Config{Threads: 1000}}
	for want, apply := range map[string]func() error{
		noThreadLimit:                    limited.limitThreads, // of this process, which has no namespaces of its own
		"no list of descriptors to keep": a.closeInherited, "no limit is given": a.limitThreads, "no directory is given": a.detachHandles, "no root directory is given": a.changeRoot,
	} {
		if err := apply(); !errors.As(err, new(missingError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a missing layer: %s", err, want)
		}
	}
}

// The process is in an unknown state after a failed layer, so nothing follows it, and its error is what Apply returns.
func TestFailedLayerIsTheLast(t *testing.T) {
	first, applied := errors.New("first"), 0
	a := &application{}
	for _, err := range []error{nil, missingError("not here"), first, errors.New("second"), nil} {
		a.layer("a layer", func() error { applied++; return err })
	}
	a.landlock() // would restrict this process
	if !errors.Is(a.err, first) || applied != 3 || len(a.report) != 2 || a.report[0].State != Active || a.report[1] != (Layer{"a layer", Missing, "not here"}) {
		t.Errorf("%d layers were applied: %v, %v", applied, a.report, a.err)
	}
}

func TestErrorOfLimitNamesIt(t *testing.T) {
	if err := setLimits(Config{}, limit{"RLIMIT_NONE", 99, 0, false}); err != nil {
		t.Error(err)
	}
	if err := setLimits(Config{}, limit{"RLIMIT_NONE", 99, 0, true}); !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "RLIMIT_NONE") {
		t.Errorf("got %v", err)
	}
}

func TestErrorOfStartIsReturned(t *testing.T) {
	if err := Start(exec.Command("/no/such/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	for name, c := range map[string]struct {
		attr      *syscall.SysProcAttr
		err       error
		transient bool
	}{
		"started":                  {&syscall.SysProcAttr{Cloneflags: allNamespaces}, nil, false},
		"no namespace is left":     {&syscall.SysProcAttr{Cloneflags: allNamespaces}, unix.ENOSPC, true},
		"refused":                  {&syscall.SysProcAttr{Cloneflags: allNamespaces}, unix.EPERM, false},
		"no space, for another":    {&syscall.SysProcAttr{}, unix.ENOSPC, false},
		"no space, not prepared":   {nil, unix.ENOSPC, false},
		"no memory, nothing asked": {nil, unix.ENOMEM, true},
	} {
		if err := explainStart(c.attr, c.err); !errors.Is(err, c.err) || IsTransient(err) != c.transient {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestPrepareKeepsAttributes(t *testing.T) {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Noctty: true}
	prepare(cmd, options{noNamespaces: true})
	if !cmd.SysProcAttr.Noctty || !cmd.SysProcAttr.Setpgid {
		t.Errorf("got %+v", cmd.SysProcAttr)
	}
}

// A config without limits sets none, but that of core dumps, and what the kernel stores for the user.
func TestOnlyConfiguredLimitsAreSet(t *testing.T) {
	set := func(limits []limit) (names []string) {
		for _, l := range limits {
			if l.set {
				names = append(names, l.name)
			}
		}
		return names
	}
	all := Config{Memory: 1, AddressSpace: 1, OpenFiles: 1, FileSize: 1, CPU: 1}
	for name, c := range map[string]struct {
		got  []limit
		want []string
	}{
		"no limits":                            {limitsOf(Config{}), []string{"RLIMIT_CORE"}},
		"all limits":                           {limitsOf(all), []string{"RLIMIT_CORE", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_DATA"}},
		"of the kernel":                        {kernelLimits(Config{}, 1), []string{"RLIMIT_SIGPENDING", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"}},
		"of the kernel, with an address space": {kernelLimits(all, 1), []string{"RLIMIT_SIGPENDING", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE", "RLIMIT_AS"}},
		"of the kernel, with an unmeasured  space": {kernelLimits(all, 0), []string{"RLIMIT_SIGPENDING", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"}},
	} {
		if diff := cmp.Diff(c.want, set(c.got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if cpu := limitsOf(Config{CPU: time.Second + 1})[1].limit; cpu != 2 {
		t.Errorf("a processor time of more than a second is limited to %d s, want it rounded up to 2", cpu)
	}
}

func TestUserNamespaceWithSingleUserIsOwn(t *testing.T) {
	for uidMap, want := range map[string]bool{
		"      1000       1000          1\n": true, "0 0 1": true, "         0          0 4294967295\n": false,
		"": false, "0 1000 1\n1 100000 65536\n": false, "0 0": false,
	} {
		if got := hasSingleUser([]byte(uidMap)); got != want {
			t.Errorf("%q: got %t", uidMap, got)
		}
	}
}

// A layer that needs a file is missing without it: confinement = "required" is decided by the report.
func TestLayersWithoutTheirFilesAreMissing(t *testing.T) {
	for file, exists := range map[string]bool{oomScoreFile: true, "/proc/self/absent": false} {
		if err := accessible(file); (err == nil) != exists || err != nil && !errors.As(err, new(missingError)) {
			t.Errorf("%s: got %v", file, err)
		}
	}
	for _, file := range []string{"/proc/self/absent", "/dev/full"} {
		if err := raiseOOMScore(file); !errors.As(err, new(missingError)) {
			t.Errorf("the OOM score in %s: got %v", file, err)
		}
	}
	absent := countedThreads("/proc/self/absent")
	if !absent.withCgo || absent.missing == nil || !strings.Contains(absent.missing.Error(), "/proc/self/absent") {
		t.Errorf("threads that cannot be counted: got %+v", absent)
	}
	for _, superuser := range []bool{false, true} {
		if err := withoutHighestPID(superuser, nil); err != nil {
			t.Errorf("the highest ID was set: got %v", err)
		}
		if err := withoutHighestPID(superuser, unix.EROFS); (err != nil) != superuser || err != nil && !errors.As(err, new(missingError)) {
			t.Errorf("the highest ID cannot be set, superuser %t: got %v", superuser, err)
		}
	}
}

// Without a count of the threads, Landlock restricts none, and Probe says so.
func TestLandlockNeedsCountOfThreads(t *testing.T) {
	for name, landlock := range map[string]func(*application){"Probe": (*application).probeLandlock, "Apply": (*application).landlock} {
		a := &application{threads: threads{missing: missingError("uncounted")}}
		landlock(a)
		if len(a.report) != 3 || a.err != nil {
			t.Fatalf("%s: %d layers, %v: %v", name, len(a.report), a.err, a.report)
		}
		for _, l := range a.report {
			if l.State != Missing || l.Reason == "" {
				t.Errorf("%s: got %+v", name, l)
			}
		}
	}
	refused := missingError("refused")
	if err := probeHandles(refused); !errors.Is(err, refused) {
		t.Errorf("handles without namespaces: got %v", err)
	}
}

func TestRootNeedsNamespacesOrCapability(t *testing.T) {
	if err := probeRoot(nil); err != nil {
		t.Errorf("with namespaces: got %v", err)
	}
	if err := probeRoot(missingError("refused")); (err == nil) != hasCapability(unix.CAP_SYS_CHROOT) {
		t.Errorf("without namespaces, and with the capability %t: got %v", hasCapability(unix.CAP_SYS_CHROOT), err)
	}
}
