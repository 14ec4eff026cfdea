//go:build unix

package tests

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
)

// kubernetes is the directory of the manifests. tests/kubernetes builds them and validates them by the schemas of Kubernetes; the tests here
// compare them with the program.
const kubernetes = "../docs/deploy/kubernetes/"

// podSpec is what the tests read of a pod.
type podSpec struct {
	Grace           int         `yaml:"terminationGracePeriodSeconds"`
	InitContainers  []container `yaml:"initContainers"`
	Containers      []container
	Volumes         []volume
	SecurityContext struct {
		RunAsUser      int    `yaml:"runAsUser"`
		RunAsGroup     int    `yaml:"runAsGroup"`
		FSGroup        int    `yaml:"fsGroup"`
		ChangePolicy   string `yaml:"fsGroupChangePolicy"`
		SeccompProfile struct {
			Path string `yaml:"localhostProfile"`
		} `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
}

type volume struct {
	Name     string
	EmptyDir struct {
		Medium    string
		SizeLimit string `yaml:"sizeLimit"`
	} `yaml:"emptyDir"`
	PersistentVolumeClaim struct {
		ClaimName string `yaml:"claimName"`
	} `yaml:"persistentVolumeClaim"`
}

type mount struct {
	Name      string
	SubPath   string `yaml:"subPath"`
	MountPath string `yaml:"mountPath"`
}

type container struct {
	Name  string
	Args  []string
	Env   []struct{ Name, Value string }
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Lifecycle struct {
		PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
	}
	Resources struct{ Limits struct{ Memory string } }
	Mounts    []mount `yaml:"volumeMounts"`
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// readManifest decodes the first document of a manifest.
func readManifest(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readFile(t, kubernetes+file)), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// readPod returns the pod of a manifest of a Deployment or StatefulSet, or of a patch of one.
func readPod(t *testing.T, file string) podSpec {
	t.Helper()
	var workload struct {
		Spec struct{ Template struct{ Spec podSpec } }
	}
	readManifest(t, file, &workload)
	return workload.Spec.Template.Spec
}

// kubernetesConfigs returns the configs of the manifests by their directories.
func kubernetesConfigs(t *testing.T) map[string]*config.Config {
	t.Helper()
	configs := map[string]*config.Config{}
	for _, pattern := range []string{"stateless", "shards/*"} {
		files, err := filepath.Glob(kubernetes + pattern + "/bulkhead.toml")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d configs, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text := readFile(t, file)
			if _, problems := config.Parse(file, []byte(option.ReplaceAllString(text, "$1$2"))); problems.Err() != nil {
				t.Errorf("with all options: %v", problems.Err())
			}
			parsed, problems := config.Parse(file, []byte(text))
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			dir, err := filepath.Rel(kubernetes, filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			configs[dir] = parsed
		}
	}
	return configs
}

// parseQuantity returns the bytes of a quantity of Kubernetes, such as 512Mi.
func parseQuantity(t *testing.T, quantity string) int64 {
	t.Helper()
	var n int64
	var unit string
	if _, err := fmt.Sscanf(quantity, "%d%s", &n, &unit); err != nil {
		t.Fatalf("%q is no quantity: %v", quantity, err)
	}
	shift, ok := map[string]int{"Ki": 10, "Mi": 20, "Gi": 30}[unit]
	if !ok {
		t.Fatalf("%q has an unknown unit", quantity)
	}
	return n << shift
}

// TestPodsHaveTimeAndMemoryForServer compares the pods with the settings of the servers in them.
func TestPodsHaveTimeAndMemoryForServer(t *testing.T) {
	pod := readPod(t, "server/pod.yaml")
	server := pod.Containers[0]
	const exit = 2 * time.Second // until the server has exited after [server] drain
	for dir, c := range kubernetesConfigs(t) {
		if grace, needed := time.Duration(pod.Grace)*time.Second, time.Duration(server.Lifecycle.PreStop.Sleep.Seconds)*time.Second+c.Server.Drain+exit; grace <= needed {
			t.Errorf("%s: terminationGracePeriodSeconds is %s, but preStop, drain and exit take %s", dir, grace, needed)
		}
		// Beside the workers and the directory in memory there are the server itself and a compiler, which may need 512 MiB each.
		if limit, needed := parseQuantity(t, server.Resources.Limits.Memory), c.Server.Memory+parseQuantity(t, volumeOf(t, pod, "run").EmptyDir.SizeLimit)+1<<30; limit < needed {
			t.Errorf("%s: the limit of memory is %d, but %d are needed", dir, limit, needed)
		}
		if !c.Server.Confined {
			t.Errorf("%s: confinement is not required", dir)
		}
	}
	if run := volumeOf(t, pod, "run"); run.EmptyDir.Medium != "Memory" {
		t.Error("the volume run is not in memory: every user may change an empty directory on the disk, so the server refuses its own directories in it")
	}
	if s := pod.SecurityContext; s.FSGroup != s.RunAsUser || s.RunAsGroup != s.RunAsUser || s.ChangePolicy != "OnRootMismatch" {
		t.Errorf("fsGroup %d, runAsGroup %d, policy %s: the server accepts volumes only of its group with the ID of its user, and refuses files that a group may write", s.FSGroup, s.RunAsGroup, s.ChangePolicy)
	}
	if name := filepath.Base(pod.SecurityContext.SeccompProfile.Path); !exists(kubernetes + "nodes/" + name) {
		t.Errorf("the pods name the seccomp profile %s, which nodes/ does not have", name)
	}
}

func volumeOf(t *testing.T, pod podSpec, name string) volume {
	t.Helper()
	i := slices.IndexFunc(pod.Volumes, func(v volume) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("there is no volume %s", name)
	}
	return pod.Volumes[i]
}

// TestShardsHaveTheirProjects checks that each project is in one shard, whose pod mounts the project's volume at the paths that the config names.
func TestShardsHaveTheirProjects(t *testing.T) {
	shards := map[string]string{}
	for dir, c := range kubernetesConfigs(t) {
		if dir == "stateless" {
			continue
		}
		pod := readPod(t, dir+"/volumes.yaml")
		for _, p := range c.Projects {
			if other := shards[p.Name]; other != "" {
				t.Errorf("the project %s is in %s and %s", p.Name, dir, other)
			}
			shards[p.Name] = dir
			var claim struct {
				Metadata struct{ Name string }
				Spec     struct {
					AccessModes []string `yaml:"accessModes"`
				}
			}
			readManifest(t, "volumes/"+p.Name+".yaml", &claim)
			if used := volumeOf(t, pod, p.Name).PersistentVolumeClaim.ClaimName; used != claim.Metadata.Name || !slices.Equal(claim.Spec.AccessModes, []string{"ReadWriteOncePod"}) {
				t.Errorf("%s: the volume of %s is that of the claim %s, want %s with ReadWriteOncePod, not %v", dir, p.Name, used, claim.Metadata.Name, claim.Spec.AccessModes)
			}
			for _, c := range append(pod.InitContainers[1:], pod.Containers...) { // the first one fetches plugins
				for _, want := range []mount{{p.Name, "files", p.Path}, {p.Name, "state", filepath.Dir(p.State)}} {
					if !slices.Contains(c.Mounts, want) {
						t.Errorf("%s: the container %s does not mount %+v", dir, c.Name, want)
					}
				}
			}
		}
	}
	if claims, err := filepath.Glob(kubernetes + "volumes/[^k]*.yaml"); err != nil || len(claims) != len(shards) {
		t.Errorf("%d volumes for %d projects, %v", len(claims), len(shards), err)
	}
}

// TestIngressesHaveEndpoints compares host and paths of each ingress with the config of the servers behind it: a host that the config does not name
// is refused while all probes succeed. HAProxy's controller passes the end of a request on only with an annotation.
func TestIngressesHaveEndpoints(t *testing.T) {
	for dir, c := range kubernetesConfigs(t) {
		var ingress struct {
			Metadata struct{ Annotations map[string]string }
			Spec     struct {
				TLS   []struct{ Hosts []string }
				Rules []struct {
					Host string
					HTTP struct{ Paths []struct{ Path string } } `yaml:"http"`
				}
			}
		}
		readManifest(t, dir+"/ingress.yaml", &ingress)
		const metadata = "/.well-known/oauth-protected-resource"
		want := []string{"/mcp", metadata, metadata + "/mcp"}
		if dir != "stateless" {
			want = nil
			for _, p := range c.Projects {
				want = append(want, "/mcp/"+p.Name, metadata+"/mcp/"+p.Name)
			}
		}
		if len(ingress.Spec.Rules) != 1 || len(ingress.Spec.TLS) != 1 {
			t.Fatalf("%s: the ingress is %+v", dir, ingress)
		}
		if ingress.Metadata.Annotations["haproxy.org/abortonclose"] != "true" {
			t.Errorf("%s: the ingress lacks haproxy.org/abortonclose, so that clients cannot cancel calls", dir)
		}
		rule := ingress.Spec.Rules[0]
		var paths []string
		for _, p := range rule.HTTP.Paths {
			paths = append(paths, p.Path)
		}
		slices.Sort(paths)
		slices.Sort(want)
		if !slices.Equal(paths, want) {
			t.Errorf("%s: the ingress has the paths %q, want %q", dir, paths, want)
		}
		if host := []string{rule.Host}; !slices.Equal(host, c.HTTP.Hosts) || !slices.Equal(host, ingress.Spec.TLS[0].Hosts) {
			t.Errorf("%s: the ingress is for %s, with certificates for %q, and the config for %q", dir, rule.Host, ingress.Spec.TLS[0].Hosts, c.HTTP.Hosts)
		}
	}
}

// option is the beginning of a line that is an option: a # without a space behind it.
var option = regexp.MustCompile(`(?m)^( *)#([^ \n])`)

// podFiles is a directory with what the containers of a pod find at absolute paths.
type podFiles struct {
	root  string
	paths *strings.Replacer // paths of the pod, and where they are
}

// newPodFiles mounts the config in dir as a kubelet does: by symbolic links to a directory, which a change replaces.
func newPodFiles(t *testing.T, dir string, options bool) podFiles {
	t.Helper()
	root := newDir(t, map[string]string{"etc/bulkhead-server/..data/x": "", "project/x": "", "run/bulkhead/x": ""})
	files := podFiles{root, strings.NewReplacer("/etc/bulkhead-server", root+"/etc/bulkhead-server", "/run/", root+"/run/", "/srv/", root+"/srv/", "0.0.0.0:8808", "127.0.0.1:0")}
	text := readFile(t, kubernetes+dir+"/bulkhead.toml")
	if options { // but a plugin of a registry and a list of revoked plugins, which do not exist
		absent := regexp.MustCompile(`(?m)^#\[\[plugins\]\]\n#from.*\n#sha256.*\n|^#\[sources\]\n.*\n`)
		text = option.ReplaceAllString(absent.ReplaceAllString(text, ""), "$1$2")
		putFile(t, root+"/srv/reference/notes.txt", "of the reference")
	}
	if report := confine.Probe(); len(report.Missing()) > 0 {
		t.Logf("this system lacks layers of confinement, so it is not required: %v", report.Missing())
		text = strings.Replace(text, `"required"`, `"available"`, 1)
	}
	files.mount(t, "etc/bulkhead-server", map[string]string{"bulkhead.toml": files.paths.Replace(text)})
	files.mount(t, "run/secrets/bulkhead", map[string]string{"token": podToken, "state-keys": strings.Repeat("k", 32)})
	for _, p := range kubernetesConfigs(t)[dir].Projects {
		putFile(t, root+p.Path+"/notes.txt", "of "+p.Name)
		if err := os.MkdirAll(root+filepath.Dir(p.State), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

const podToken = "0123456789abcdef0123456789abcdef"

// mount writes the files of a projected volume, or replaces them, in the way of a kubelet.
func (p podFiles) mount(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	at := filepath.Join(p.root, dir)
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(at, 0o777|os.ModeSticky); err != nil { // as a projected volume
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(at, "..2026_")
	if err == nil {
		err = os.Chmod(fresh, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		putFile(t, filepath.Join(fresh, name), content)
		if err := os.Chmod(filepath.Join(fresh, name), 0o440); err != nil {
			t.Fatal(err)
		}
		if link := filepath.Join(at, name); !exists(link) {
			if err := os.Symlink("..data/"+name, link); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(at, "..data")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Base(fresh), filepath.Join(at, "..data.new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(at, "..data.new"), filepath.Join(at, "..data")); err != nil {
		t.Fatal(err)
	}
}

// command returns the command of a container.
func (p podFiles) command(t *testing.T, c container) *exec.Cmd {
	t.Helper()
	var args []string
	for _, arg := range c.Args {
		args = append(args, p.paths.Replace(arg))
	}
	cmd := exec.Command(built.program(t), args...)
	cmd.Dir = filepath.Join(p.root, "project")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.root + "/home", "BULKHEAD_PLUGINS=" + built.plugins(t)}
	for _, v := range c.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+p.paths.Replace(v.Value))
	}
	return cmd
}

// TestManifestsServe runs the containers of each pod, with the arguments, variables and configs of the manifests, and asks their probes.
func TestManifestsServe(t *testing.T) {
	t.Parallel()
	testenv.NotShort(t, "runs the built program")
	pod := readPod(t, "server/pod.yaml")
	type variant struct {
		dir            string
		options, empty bool // empty: a shard without projects
	}
	variants := map[variant]*config.Config{{"shards/b", false, true}: {}}
	for dir, c := range kubernetesConfigs(t) {
		variants[variant{dir, false, false}], variants[variant{dir, true, false}] = c, c
	}
	for v, c := range variants {
		dir, options := v.dir, v.options
		t.Run(fmt.Sprintf("%s, options %t, empty %t", dir, options, v.empty), func(t *testing.T) {
			t.Parallel()
			files := newPodFiles(t, dir, options)
			if v.empty {
				text := readFile(t, files.root+"/etc/bulkhead-server/bulkhead.toml")
				files.mount(t, "etc/bulkhead-server", map[string]string{"bulkhead.toml": regexp.MustCompile(`\[\[projects\]\]\n(.+\n)+`).ReplaceAllString(text, "")})
			}
			if err := testcache.Link(filepath.Join(files.root, "run/bulkhead/cache"), built.cache(t)); err != nil {
				t.Fatal(err)
			}
			for _, container := range pod.InitContainers {
				if out, err := files.command(t, container).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", container.Name, err, out)
				}
			}
			server := pod.Containers[0]
			s := startServer(t, files.command(t, server))
			url := httpURL(t, s)
			if port := server.Ports[0]; !slices.Contains(server.Args, fmt.Sprintf("0.0.0.0:%d", port.ContainerPort)) || port.Name != "http" {
				t.Errorf("the port %+v is not the one of %v", port, server.Args)
			}
			for _, probe := range []probe{server.Liveness, server.Readiness} {
				response, err := http.Get(strings.TrimSuffix(url, "/mcp") + probe.Get.Path)
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if response.StatusCode != http.StatusOK || probe.Get.Port != "http" {
					t.Errorf("%+v: %s", probe, response.Status)
				}
			}
			headers := []string{"Authorization", "Bearer " + podToken}
			if options { // the token is that of Prometheus, and gets nothing else
				checkOptions(t, files, url)
				c = &config.Config{}
			} else if dir == "stateless" {
				if code, body := modernCall(t, url, "get_current_time", `{"timezone":"UTC"}`, headers...); code != http.StatusOK || !strings.Contains(body, "UTC") {
					t.Errorf("the call: %d %s", code, body)
				}
			}
			for _, p := range c.Projects {
				code, body := modernCall(t, url+"/"+p.Name, "read_text_file", `{"path":"notes.txt"}`, headers...)
				if code != http.StatusOK || !strings.Contains(body, "of "+p.Name) {
					t.Errorf("the call at %s: %d %s", p.Name, code, body)
				}
			}
			signal(t, s.cmd, syscall.SIGTERM)
			if code, _ := s.exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if log := s.log.String(); strings.Contains(log, "another user decides") {
				t.Errorf("the server does not trust the mounted config: %s", log)
			}
		})
	}
}

// checkOptions reads the metrics of a server that has all options, calls a tool in vain, and finds the records of that by the command of docs/cluster.md.
func checkOptions(t *testing.T, files podFiles, url string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(url, "/mcp")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+podToken)
	status, body, err := answerOf(http.DefaultClient, r)
	if err != nil || status != http.StatusOK || !strings.Contains(body, "bulkhead_policy_info{") || !strings.Contains(body, "bulkhead_http_streams ") {
		t.Errorf("metrics: %d %v %s", status, err, body)
	}
	if status, body := modernCall(t, url, "get_current_time", `{"timezone":"UTC"}`, "Authorization", "Bearer "+podToken); isResult(status, body) {
		t.Errorf("the token of Prometheus can call a tool: %s", body)
	}
	server := readPod(t, "server/pod.yaml").Containers[0]
	server.Args = []string{"audit", "--since", "1h", "--config", "/etc/bulkhead-server/bulkhead.toml"}
	if out, err := files.command(t, server).CombinedOutput(); err != nil || !strings.Contains(string(out), "get_current_time") {
		t.Errorf("audit: %v\n%s", err, out)
	}
}
