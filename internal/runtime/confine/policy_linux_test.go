//go:build amd64 || arm64

package confine

import (
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
			program = append(program, oneCall(call, answer(j.Errno))...)
		}
		if err := install(append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})); err != nil {
			return nil, nil, err
		}
		probed := Probe()
		report, err := Apply(j.Config)
		return report, map[string]string{"apply": text(err), "probed": Describe(probed.Missing())}, nil
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
		"Landlock, failing":    {[]uint32{unix.SYS_LANDLOCK_CREATE_RULESET}, unix.EINVAL, nil, nil, "confinement: landlock: "},
		"rules":                {[]uint32{unix.SYS_LANDLOCK_ADD_RULE}, unix.EPERM, nil, nil, "confinement: landlock: landlock_add_rule: "},
		"rules on threads":     {[]uint32{unix.SYS_LANDLOCK_RESTRICT_SELF}, unix.EPERM, nil, nil, "confinement: landlock: "},
		"clones of mounts":     {[]uint32{unix.SYS_OPEN_TREE}, unix.EPERM, []string{LayerHandles}, nil, ""},
		"changes of mounts":    {[]uint32{unix.SYS_MOUNT_SETATTR}, unix.ENOSYS, []string{LayerHandles}, []string{LayerHandles}, ""},
		"another root":         {[]uint32{unix.SYS_CHROOT}, unix.EPERM, []string{LayerRoot}, nil, ""},
		"another directory":    {[]uint32{unix.SYS_FCHDIR}, unix.EPERM, nil, nil, "confinement: root: "},
		"the root directory":   {[]uint32{unix.SYS_CHDIR}, unix.EPERM, nil, nil, "confinement: root: "},
		"capabilities":         {[]uint32{unix.SYS_CAPSET}, unix.EPERM, nil, nil, "confinement: capabilities: "},
		"limits":               {[]uint32{unix.SYS_PRLIMIT64, unix.SYS_SETRLIMIT}, unix.EPERM, nil, nil, "confinement: "},
		"lists of files":       {[]uint32{unix.SYS_GETDENTS64}, unix.EPERM, []string{LayerDescriptors}, nil, ""},
		"flags of descriptors": {[]uint32{unix.SYS_FCNTL}, unix.EPERM, nil, nil, "confinement: descriptors: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, job{Scenario: "policy", Refused: c.refused, Errno: c.errno}, options{})
			if failure := got.Results["apply"]; (failure == "") != (c.failure == "") || !strings.HasPrefix(failure, c.failure) {
				t.Fatalf("Apply: got %q, want %q", failure, c.failure)
			}
			for _, layer := range usual.Report {
				want := layer.State == Active && !slices.Contains(c.missing, layer.Name)
				if c.failure == "" && got.Report.Active(layer.Name) != want {
					t.Errorf("%s is active: %t, want %t", layer.Name, !want, want)
				}
				if slices.Contains(c.probed, layer.Name) && !strings.Contains(got.Results["probed"], layer.Name) {
					t.Errorf("Probe reports these layers as missing: %s; want %s", got.Results["probed"], layer.Name)
				}
			}
		})
	}
}
