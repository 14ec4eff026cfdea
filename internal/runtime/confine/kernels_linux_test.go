package confine

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

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
		"6.14.0-29-generic": true, "6.14": true, "6.15.1": true, "7.0.0-rc1": true, "10.2.3": true,
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
	threads := threads{withCgo: true, tasks: -1, missing: unknown}
	threads.close()
	if err := threads.call(unix.SYS_GETPID, 0, 0, 0); !errors.Is(err, unknown) {
		t.Errorf("got %v, want %v", err, unknown)
	}
}

func TestLayersThatConfigLeavesOutAreMissing(t *testing.T) {
	a := &application{}
	for want, apply := range map[string]func() error{
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
}

func TestRootNeedsNamespacesOrCapability(t *testing.T) {
	if err := probeRoot(nil); err != nil {
		t.Errorf("with namespaces: got %v", err)
	}
	if err := probeRoot(missingError("refused")); (err == nil) != hasCapability(unix.CAP_SYS_CHROOT) {
		t.Errorf("without namespaces, and with the capability %t: got %v", hasCapability(unix.CAP_SYS_CHROOT), err)
	}
}
