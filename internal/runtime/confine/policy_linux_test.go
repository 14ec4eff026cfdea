//go:build amd64 || arm64

package confine

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

func init() {
	scenarios["policy"] = func(j job) (Report, map[string]string, error) {
		program := []bpf.Instruction{bpf.LoadAbsolute{Off: callOffset, Size: 4}}
		for _, call := range j.Refused {
			if j.When != nil {
				program = append(program, bpf.LoadAbsolute{Off: callOffset, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 3},
					bpf.LoadAbsolute{Off: argOffset + 8*j.When.Index, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: j.When.Value, SkipFalse: 1}, answer(j.Errno))
				continue
			}
			program = append(program, oneCall(call, answer(j.Errno))...)
		}
		if j.Handle > 0 {
			j.Config.Dirs, j.Config.Root = []Dir{{FD: j.Handle}}, nil
		}
		if err := install(append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})); err != nil {
			return nil, nil, err
		}
		probed := Probe()
		report, err := Apply(j.Config)
		return report, map[string]string{"apply": text(err), "probed": Describe(probed.Missing()), "missing": Describe(report.Missing())}, nil
	}
}

// The policy of a container may refuse what a layer needs. Then the layer is reported as missing, and the others are active; or, where the
// process would be in an unknown state, Apply fails.
func TestRefusedSystemCallIsReported(t *testing.T) {
	if layer := probeSeccomp(); layer != nil {
		t.Skip(layer)
	}
	usual := run(t, job{Scenario: "policy"}, options{})
	landlock := []string{LayerLandlock, LayerNetwork, LayerScope}
	for name, c := range map[string]struct {
		refused []uint32
		errno   unix.Errno
		missing []string // layers
		probed  []string // those of them that Probe reports
		failure string   // of Apply
	}{
		"filters":              {[]uint32{unix.SYS_SECCOMP}, unix.EPERM, []string{LayerSeccomp}, []string{LayerSeccomp}, ""},
		"Landlock":             {[]uint32{unix.SYS_LANDLOCK_CREATE_RULESET}, unix.EPERM, landlock, landlock, ""},
		"Landlock, unknown":    {[]uint32{unix.SYS_LANDLOCK_CREATE_RULESET}, unix.ENOSYS, landlock, landlock, ""},
		"Landlock, disabled":   {[]uint32{unix.SYS_LANDLOCK_CREATE_RULESET}, unix.EOPNOTSUPP, landlock, landlock, ""},
		"Landlock, failing":    {[]uint32{unix.SYS_LANDLOCK_CREATE_RULESET}, unix.EINVAL, nil, landlock, "confinement: landlock: "},
		"rules":                {[]uint32{unix.SYS_LANDLOCK_ADD_RULE}, unix.EPERM, nil, nil, "confinement: landlock: landlock_add_rule: "},
		"rules on threads":     {[]uint32{unix.SYS_LANDLOCK_RESTRICT_SELF}, unix.EPERM, nil, nil, "confinement: landlock: "},
		"clones of mounts":     {[]uint32{unix.SYS_OPEN_TREE}, unix.EPERM, []string{LayerHandles}, nil, ""},
		"changes of mounts":    {[]uint32{unix.SYS_MOUNT_SETATTR}, unix.ENOSYS, []string{LayerHandles}, []string{LayerHandles}, ""},
		"another root":         {[]uint32{unix.SYS_CHROOT}, unix.EPERM, []string{LayerRoot}, nil, ""},
		"another directory":    {[]uint32{unix.SYS_FCHDIR}, unix.EPERM, nil, nil, "confinement: root: "},
		"the root directory":   {[]uint32{unix.SYS_CHDIR}, unix.EPERM, nil, nil, "confinement: root: "},
		"capabilities":         {[]uint32{unix.SYS_CAPSET}, unix.EPERM, nil, nil, "confinement: capabilities: "},
		"limits":               {[]uint32{unix.SYS_PRLIMIT64, unix.SYS_SETRLIMIT}, unix.EPERM, nil, nil, "confinement: threads: RLIMIT_NPROC: "},
		"kinds of descriptors": {[]uint32{unix.SYS_FSTAT}, unix.EPERM, nil, nil, "confinement: descriptor 3: operation not permitted"},
		"paths of handles":     {[]uint32{unix.SYS_READLINKAT}, unix.EPERM, []string{LayerHandles}, nil, ""},
		"numbers of handles":   {[]uint32{unix.SYS_DUP3}, unix.EPERM, []string{LayerHandles}, nil, ""},
		"lists of files":       {[]uint32{unix.SYS_GETDENTS64}, unix.EPERM, []string{LayerDescriptors}, nil, ""},
		"flags of descriptors": {[]uint32{unix.SYS_FCNTL}, unix.EPERM, nil, nil, "confinement: descriptors: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, job{Scenario: "policy", Refused: c.refused, Errno: c.errno}, options{})
			if failure := got.Results["apply"]; (failure == "") != (c.failure == "") || !strings.HasPrefix(failure, c.failure) {
				t.Fatalf("Apply: got %q, want %q", failure, c.failure)
			}
			for _, layer := range c.probed {
				if !strings.Contains(got.Results["probed"], layer) {
					t.Errorf("Probe reports these layers as missing: %s; want %s", got.Results["probed"], layer)
				}
			}
			for _, layer := range usual.Report {
				want := layer.State == Active && !slices.Contains(c.missing, layer.Name)
				if c.failure == "" && got.Report.Active(layer.Name) != want {
					t.Errorf("%s is active: %t, want %t", layer.Name, !want, want)
				}
			}
		})
	}
}

// The policy of a container may refuse one use of a system call.
func TestRefusedUseOfSystemCallIsReported(t *testing.T) {
	if layer := probeSeccomp(); layer != nil {
		t.Skip(layer)
	}
	const setFilter, errata = 1, 2
	for name, c := range map[string]struct {
		call    uint32
		when    argument
		only    []string // layers
		handle  int
		failure string // of Apply
		missing string // layers and reasons
	}{
		"parent death":     {unix.SYS_PRCTL, argument{0, unix.PR_SET_PDEATHSIG}, nil, 0, "confinement: parent_death: ", ""},
		"no new rights":    {unix.SYS_PRCTL, argument{0, unix.PR_SET_NO_NEW_PRIVS}, nil, 0, "confinement: no_new_privs: ", ""},
		"filter of rights": {unix.SYS_PRCTL, argument{0, unix.PR_SET_NO_NEW_PRIVS}, []string{LayerSeccomp}, 0, "confinement: seccomp: ", ""},
		"secure bits":      {unix.SYS_PRCTL, argument{0, unix.PR_SET_SECUREBITS}, nil, 0, "confinement: capabilities: ", ""},
		"dumps":            {unix.SYS_PRCTL, argument{0, unix.PR_SET_DUMPABLE}, nil, 0, "confinement: no_dump: ", ""},
		"filters":          {unix.SYS_SECCOMP, argument{0, setFilter}, nil, 0, "confinement: seccomp: ", ""},
		"core dumps":       {unix.SYS_PRLIMIT64, argument{1, unix.RLIMIT_CORE}, nil, 0, "confinement: limits: RLIMIT_CORE: ", ""},
		"queued signals":   {unix.SYS_PRLIMIT64, argument{1, unix.RLIMIT_SIGPENDING}, nil, 0, "confinement: limits: RLIMIT_SIGPENDING: ", ""},
		"rule sets":        {unix.SYS_LANDLOCK_CREATE_RULESET, argument{2, 0}, nil, 0, "confinement: landlock: landlock_create_ruleset: ", ""},
		"errata":           {unix.SYS_LANDLOCK_CREATE_RULESET, argument{2, errata}, nil, 0, "", ""},
		"open handle":      {unix.SYS_DUP3, argument{1, writeFD}, nil, writeFD, "", "handles (descriptor 3: operation not permitted)"},
		"path handle":      {unix.SYS_DUP3, argument{1, readFD}, nil, readFD, "", "handles (descriptor 4: operation not permitted)"},
		"second handle":    {unix.SYS_DUP3, argument{1, readFD}, nil, 0, "", "handles (descriptor 4: operation not permitted)"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, job{Scenario: "policy", Only: c.only, Refused: []uint32{c.call}, Errno: unix.EPERM, When: &c.when, Handle: c.handle}, options{})
			if failure := got.Results["apply"]; (failure == "") != (c.failure == "") || !strings.HasPrefix(failure, c.failure) {
				t.Errorf("Apply: got %q, want %q", failure, c.failure)
			}
			if !strings.Contains(got.Results["missing"], c.missing) {
				t.Errorf("missing: %s; want %s", got.Results["missing"], c.missing)
			}
			if name == "errata" && got.Report.Active(LayerScope) && !slices.ContainsFunc(got.Report, func(l Layer) bool { return strings.HasPrefix(l.Reason, "abstract sockets only") }) {
				t.Errorf("a kernel that reports no errata counts as one without them: %v", got.Report)
			}
		})
	}
}

// Tests that need the filter are skipped where probeSeccomp says that it is missing.
func TestFilterIsFoundWhereKernelHasIt(t *testing.T) {
	actions, _ := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	if has := slices.Contains(strings.Fields(string(actions)), "errno"); has != (probeSeccomp() == nil) {
		t.Errorf("the kernel has the actions %q, and probeSeccomp returns %v", actions, probeSeccomp())
	}
}

func TestFilterThatIsMalformedIsNotInstalled(t *testing.T) {
	if err := install([]bpf.Instruction{bpf.LoadAbsolute{Size: 3}}); err == nil {
		t.Error("an instruction of three bytes was assembled")
	}
}
