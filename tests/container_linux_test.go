package tests

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
)

// runtimeDefault denies what the default profiles of containerd and Docker deny to containers without capabilities, as far as workers use it.
const runtimeDefault = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
	{"action": "SCMP_ACT_ERRNO", "names": ["chroot", "mount", "mount_setattr", "open_tree", "setns", "umount2", "unshare", "userfaultfd"]},
	{"action": "SCMP_ACT_ERRNO", "errnoRet": 38, "names": ["clone3"]},
	{"action": "SCMP_ACT_ERRNO", "names": ["clone"], "args": [{"index": 0, "value": 268435456, "valueTwo": 268435456, "op": "SCMP_CMP_MASKED_EQ"}]}]}`

// testPod runs containers of a pod of the manifests with crun, in the network of the machine.
type testPod struct {
	files podFiles
	user  int
	image string            // root directory of the containers
	binds map[string]string // directories of the machine by paths in the pod
	state string            // directory of crun
}

func newTestPod(t *testing.T, dir string) *testPod {
	t.Helper()
	testenv.NotShort(t, "runs the built program")
	for _, program := range []string{"crun", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (Debian: crun, util-linux)", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can have crun create a container for another user")
	}
	if report := confine.Probe(); len(report.Missing()) > 0 {
		t.Skipf("this system lacks layers of confinement: %v", report.Missing())
	}
	user := readPod(t, "server/pod.yaml").SecurityContext.RunAsUser
	p := &testPod{files: newPodFiles(t, dir, false), user: user, image: newDir(t, nil), state: newDir(t, nil)}
	for _, made := range []string{"etc", "home/bulkhead", "project", "tmp", "proc", "sys", "dev", "run"} {
		if err := os.MkdirAll(filepath.Join(p.image, made), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := testcache.Must(testcache.Program("../cmd/bulkhead", testcache.WithoutCgo))
	if err := testcache.Link(filepath.Join(p.image, "opt/bulkhead"), filepath.Dir(program)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fetch", "filesystem", "git", "time"} {
		if err := testcache.Link(filepath.Join(p.image, "opt/bulkhead/plugins", name), filepath.Join(built.plugins(t), name)); err != nil {
			t.Fatal(err)
		}
	}
	// The paths of the pod, unlike those of podFiles, which are of the machine.
	text := readFile(t, kubernetes+dir+"/bulkhead.toml")
	p.files.mount(t, "etc/bulkhead-server", map[string]string{"bulkhead.toml": text})
	p.binds = map[string]string{"/etc/bulkhead-server": p.files.root + "/etc/bulkhead-server", "/run/secrets/bulkhead": p.files.root + "/run/secrets/bulkhead"}
	for _, c := range kubernetesConfigs(t)[dir].Projects {
		for _, path := range []string{c.Path, filepath.Dir(c.State)} {
			// As a kubelet leaves a volume with fsGroup.
			if err := os.Chown(p.files.root+path, 0, user); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(p.files.root+path, 0o775|os.ModeSetgid); err != nil {
				t.Fatal(err)
			}
			p.binds[path] = p.files.root + path
		}
	}
	for _, dir := range []string{"/etc/bulkhead-server", "/run/secrets/bulkhead"} { // fsGroup
		for _, file := range []string{"bulkhead.toml", "token", "state-keys"} {
			if path := filepath.Join(p.files.root+dir, file); exists(path) {
				if err := os.Chown(path, 0, user); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return p
}

// command returns the command of a container with a seccomp profile; "" is none.
func (p *testPod) command(t *testing.T, c container, seccomp string, args ...string) *exec.Cmd {
	t.Helper()
	mounts := []map[string]any{
		{"destination": "/proc", "type": "proc", "source": "proc", "options": []string{"nosuid", "noexec", "nodev"}},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755", "size=65536k"}},
		{"destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "nodev", "mode=755"}},
		{"destination": "/srv", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "nodev", "mode=755"}},
		{"destination": "/run/bulkhead", "type": "bind", "source": p.run(t), "options": []string{"bind", "rw"}},
	}
	for _, path := range slices.Sorted(maps.Keys(p.binds)) {
		access := "rw"
		if !strings.HasPrefix(path, "/srv/") {
			access = "ro"
		}
		mounts = append(mounts, map[string]any{"destination": path, "type": "bind", "source": p.binds[path], "options": []string{"bind", access}})
	}
	env := []string{"PATH=/opt/bulkhead", "HOME=/home/bulkhead"}
	for _, v := range c.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	linux := map[string]any{
		"namespaces":    []map[string]string{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}},
		"maskedPaths":   []string{"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/scsi"},
		"readonlyPaths": []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
	}
	if seccomp != "" {
		linux["seccomp"] = json.RawMessage(seccomp)
	}
	spec, err := json.Marshal(map[string]any{
		"ociVersion": "1.0.2",
		"process": map[string]any{
			"user": map[string]int{"uid": p.user, "gid": p.user}, "args": append([]string{"/opt/bulkhead/bulkhead"}, args...), "cwd": "/project", "env": env,
			"noNewPrivileges": true, "capabilities": map[string][]string{},
		},
		"root": map[string]any{"path": p.image, "readonly": true}, "mounts": mounts, "linux": linux,
	})
	if err != nil {
		t.Fatal(err)
	}
	bundle := t.TempDir()
	putFile(t, filepath.Join(bundle, "config.json"), string(spec))
	name := "bulkhead-test-" + strings.Trim(filepath.Base(filepath.Dir(bundle))+filepath.Base(bundle), "/")
	t.Cleanup(func() { _ = exec.Command("crun", "--root", p.state, "delete", "--force", name).Run() }) // it may have ended
	// crun 1.8 refuses to run where cgroups of both versions are mounted.
	return exec.Command("unshare", "--mount", "sh", "-c", `mount -t cgroup2 none /sys/fs/cgroup; exec "$@"`, "sh",
		"crun", "--root", p.state, "--cgroup-manager=disabled", "run", "--bundle", bundle, name)
}

// run returns the directory in memory that the containers share.
func (p *testPod) run(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(p.files.root, "run/memory")
	if !exists(dir) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPodsKeepAllLayers runs a pod of the manifests in containers with its seccomp profile: calls run although all layers are required, and with
// the default profile of a container runtime the server does not start.
func TestPodsKeepAllLayers(t *testing.T) {
	t.Parallel()
	pod := readPod(t, "server/pod.yaml")
	profile := readFile(t, kubernetes+"nodes/"+filepath.Base(pod.SecurityContext.SeccompProfile.Path))
	for dir, call := range map[string][3]string{
		"stateless": {"", "get_current_time", `{"timezone":"UTC"}`},
		"shards/a":  {"/site", "write_file", `{"path":"made.txt","content":"x"}`},
	} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			p := newTestPod(t, dir)
			for _, c := range pod.InitContainers {
				if out, err := p.command(t, c, profile, c.Args...).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", c.Name, err, out)
				}
			}
			server := pod.Containers[0]
			args := slices.Clone(server.Args)
			args[slices.Index(args, "0.0.0.0:8808")] = "127.0.0.1:0"
			s := startServer(t, p.command(t, server, profile, args...))
			code, body := modernCall(t, httpURL(t, s)+call[0], call[1], call[2], "Authorization", "Bearer "+podToken)
			if code != http.StatusOK || strings.Contains(body, `"isError":true`) {
				t.Errorf("with the profile: %d %s", code, body)
			}
			signal(t, s.cmd, syscall.SIGTERM)
			if code, _ := s.exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			out, err := p.command(t, server, runtimeDefault, args...).CombinedOutput()
			for _, layer := range []string{confine.LayerNamespaces, confine.LayerHandles, confine.LayerRoot, confine.LayerThreads} {
				if err == nil || !strings.Contains(string(out), layer+" (") {
					t.Errorf("with the default profile: %v %s, want an error that names %s", err, out, layer)
				}
			}
			if dir != "stateless" {
				if info, err := os.Stat(p.files.root + "/srv/projects/site/made.txt"); err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != p.user {
					t.Errorf("the file that was written: %v, %v", info, err)
				}
			}
		})
	}
}
