//go:build unix

package host_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// mounted is a directory as Kubernetes mounts a ConfigMap or Secret: each file is a symbolic link by way of ..data, which is a link to the directory with
// the current files and is replaced atomically. Neither the links of the files nor their directory change.
type mounted struct {
	dir      string
	mode     os.FileMode
	versions int
}

// put replaces all files.
func (m *mounted) put(t *testing.T, files hosttest.Files) {
	t.Helper()
	former := ".." + strconv.Itoa(m.versions)
	m.versions++
	version := ".." + strconv.Itoa(m.versions)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(m.dir, version), 0o755))
	must(os.Chmod(m.dir, m.mode))
	for name, content := range files {
		must(os.WriteFile(filepath.Join(m.dir, version, name), []byte(content), 0o600))
		if link := filepath.Join(m.dir, name); m.versions == 1 {
			must(os.Symlink(filepath.Join("..data", name), link))
		}
	}
	next := filepath.Join(m.dir, "..data_tmp")
	must(os.Symlink(version, next))
	must(os.Rename(next, filepath.Join(m.dir, "..data")))
	must(os.RemoveAll(filepath.Join(m.dir, former)))
}

// TestMountedFilesAreFollowed replaces, one after the other, config, included file, ceiling, list of revoked plugins, token, keys of questions and
// certificate of a server as Kubernetes does. Only watching finds the changes.
func TestMountedFilesAreFollowed(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), hosttest.Files{"work/bulkhead.toml": ""})
	m := &mounted{dir: filepath.Join(w.Dir, "mount"), mode: 0o777 | os.ModeSticky}
	in := func(name string) string { return filepath.Join(m.dir, name) }
	plugin := func(name string) string {
		return fmt.Sprintf("[[plugins]]\npath = %q\n", filepath.Join(w.Dir, "plugins", name))
	}
	pair := func() (cert, key string) {
		file, private := filepath.Join(w.Dir, "c.pem"), filepath.Join(w.Dir, "k.pem")
		writeCertificate(t, file, private)
		certs, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := os.ReadFile(private)
		if err != nil {
			t.Fatal(err)
		}
		return string(certs), string(keys)
	}
	r := newRevoker(t)
	settings := fmt.Sprintf("include = ['part.toml']\n[http]\ntoken_file = %q\nstate_keys = %q\ntls_cert = %q\ntls_key = %q\n"+
		"[sources]\nrevocations = [{ from = 'revoked.toml', key = '%s' }]\n", in("token"), in("state-keys"), in("tls.crt"), in("tls.key"), r.key.Public())
	files := hosttest.Files{"bulkhead.toml": settings + plugin("a"), "part.toml": plugin("b"), "ceiling.toml": "", "token": token, "state-keys": strings.Repeat("k", 32)}
	files["revoked.toml"], files["revoked.toml.minisig"] = r.list(t, 1)
	files["tls.crt"], files["tls.key"] = pair()
	m.put(t, files)
	o := w.Options()
	o.ConfigFile = in("bulkhead.toml")
	o.System = discovery.WithCeiling(o.System, in("ceiling.toml"), os.Getuid(), w.Dir)
	h := w.Open(t, o)
	h.Watch(t.Context())
	url, end := serveHTTP(t, h, host.HTTPOptions{Address: "127.0.0.1:0"})

	want := func(what string, ok func(status int, body, serial string) bool, token string) {
		t.Helper()
		var status int
		var body, certificate string
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
				certificate = string(s.PeerCertificates[0].Raw)
				return nil
			}}}}
			status, body = ask(t, client, url, token)
			if ok(status, body, certificate) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s is not followed: %d %s", what, status, body)
			}
		}
	}
	has := func(names ...string) func(int, string, string) bool {
		return func(_ int, body, _ string) bool {
			for _, name := range []string{"a_reads", "b_reads"} {
				if strings.Contains(body, name) != strings.Contains(strings.Join(names, " "), name) {
					return false
				}
			}
			return true
		}
	}
	want("the start", has("a_reads", "b_reads"), token)
	files["bulkhead.toml"] = settings + plugin("a") + "deny_tools = ['a_reads']\n"
	m.put(t, files)
	want("the config", has("b_reads"), token)
	files["part.toml"] = plugin("b") + "deny_tools = ['b_reads']\n"
	m.put(t, files)
	want("the included file", has(), token)
	files["bulkhead.toml"], files["part.toml"] = settings+plugin("a"), plugin("b")
	m.put(t, files)
	want("the config", has("a_reads", "b_reads"), token)
	files["ceiling.toml"] = "[ceiling]\ndeny_tools = ['b_reads']\n"
	m.put(t, files)
	want("the ceiling", has("a_reads"), token)
	files["revoked.toml"], files["revoked.toml.minisig"] = r.list(t, 2, answering("a", "A")["plugins/a/plugin.toml"])
	m.put(t, files)
	want("the list of revoked plugins", has(), token)
	files["revoked.toml"], files["revoked.toml.minisig"] = r.list(t, 3)
	m.put(t, files)
	want("the list of revoked plugins", has("a_reads"), token)
	files["state-keys"] += "\n" + strings.Repeat("n", 32)
	m.put(t, files)
	for end := time.Now().Add(time.Minute); !strings.Contains(w.Log.String(), "the state keys have changed"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the keys of questions are not followed: %s", w.Log.String())
		}
	}
	files["token"] = "the-next-token-of-the-server"
	m.put(t, files)
	want("the token", has("a_reads"), files["token"])
	want("the former token", func(status int, _, _ string) bool { return status == http.StatusUnauthorized }, token)
	var former string
	want("the certificate", func(_ int, _, now string) bool { former = now; return now != "" }, files["token"])
	files["tls.crt"], files["tls.key"] = pair()
	m.put(t, files)
	want("the certificate", func(_ int, _, now string) bool { return now != former }, files["token"])
	_ = end()
	if strings.Contains(w.Log.String(), othersDecide) {
		t.Errorf("a projected volume causes a warning: %s", w.Log.String())
	}
}

const othersDecide = "another user decides what is granted"

// TestMountWithoutStickyBit has the mode of a volume of the kind configMap, whose directory each user of a container may change. That of a
// projected volume is in memory, and has the sticky bit.
func TestMountWithoutStickyBit(t *testing.T) {
	for mode, trusted := range map[os.FileMode]bool{0o777: false, 0o777 | os.ModeSticky: true} {
		w := hosttest.New(t, answering("a", "A"), hosttest.Files{"work/bulkhead.toml": ""})
		m := &mounted{dir: filepath.Join(w.Dir, "mount"), mode: mode}
		m.put(t, hosttest.Files{"bulkhead.toml": fmt.Sprintf("[[plugins]]\npath = %q\n", filepath.Join(w.Dir, "plugins", "a")), "ceiling.toml": ""})
		o := w.Options()
		o.ConfigFile = filepath.Join(m.dir, "bulkhead.toml")
		w.Open(t, o)
		if strings.Contains(w.Log.String(), othersDecide) == trusted {
			t.Errorf("mode %s: the log has %s", mode, w.Log.String())
		}
		o.System = discovery.WithCeiling(o.System, filepath.Join(m.dir, "ceiling.toml"), os.Getuid(), w.Dir)
		if h, err := host.Open(o); (err == nil) != trusted {
			t.Errorf("mode %s: with a ceiling: %v", mode, err)
		} else if err == nil {
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}
