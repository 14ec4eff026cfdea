package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func static(c Credential) func(context.Context, string) (Credential, error) {
	return func(context.Context, string) (Credential, error) { return c, nil }
}

// guarded has a registry ask for a header, with a challenge.
func guarded(authorization string, challenge func() string) func(http.Handler) http.Handler {
	return func(good http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != authorization {
				w.Header().Set("WWW-Authenticate", challenge())
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			good.ServeHTTP(w, r)
		})
	}
}

func TestBasicAuthentication(t *testing.T) {
	me := Credential{Username: "me", Password: "p:w"}
	host := newRegistry(t, guarded(me.basic(), func() string { return `Basic realm="registry"` }))
	ref := reference(t, "oci://"+host+"/notes:1.0.0")
	client := &Client{Credential: static(me)}
	if _, err := client.Push(t.Context(), ref, sample("1.0.0")); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Pull(t.Context(), ref); err != nil || got.Version != "1.0.0" {
		t.Errorf("got %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		credential func(context.Context, string) (Credential, error)
		want       string
	}{
		"no function":        {nil, "asks for a password: log in with `docker login " + host + "`"},
		"no credential":      {static(Credential{}), "asks for a password: log in with `docker login " + host + "`"},
		"a wrong password":   {static(Credential{Username: "me", Password: "secret"}), "the registry refuses access: status 401 (Unauthorized)"},
		"a store that fails": {func(context.Context, string) (Credential, error) { return me, io.ErrUnexpectedEOF }, "the credential for " + host + " cannot be read: unexpected EOF"},
	} {
		if _, err := (&Client{Credential: c.credential}).Pull(t.Context(), ref); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestTokenAuthentication(t *testing.T) {
	for name, c := range map[string]struct {
		credential Credential
		write      bool
		want       string // method, authorization, query or form
	}{
		"anonymous":         {Credential{}, false, "GET  account=x&scope=repository%3Ateam%2Fnotes%3Apull&service=registry"},
		"a password":        {Credential{Username: "me", Password: "pw"}, false, "GET Basic bWU6cHc= account=x&scope=repository%3Ateam%2Fnotes%3Apull&service=registry"},
		"for a push":        {Credential{Username: "me", Password: "pw"}, true, "GET Basic bWU6cHc= account=x&scope=repository%3Ateam%2Fnotes%3Apull%2Cpush&service=registry"},
		"an identity token": {Credential{IdentityToken: "it"}, false, "POST  client_id=bulkhead&grant_type=refresh_token&refresh_token=it&scope=repository%3Ateam%2Fnotes%3Apull&service=registry"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				query := r.URL.RawQuery
				if r.Method == http.MethodPost {
					body, _ := io.ReadAll(r.Body)
					query = string(body)
				}
				got = append(got, r.Method+" "+r.Header.Get("Authorization")+" "+query)
				_, _ = io.WriteString(w, `{"access_token":"tok"}`)
			}))
			defer service.Close()
			host := newRegistry(t, guarded("Bearer tok", func() string {
				return fmt.Sprintf(`Bearer realm="%s/token?account=x&scope=other",service="registry",scope="repository:other:pull"`, service.URL)
			}))
			client, ref := &Client{Credential: static(c.credential)}, reference(t, "oci://"+host+"/team/notes:1.0.0")
			var err error
			if c.write {
				_, err = client.Push(t.Context(), ref, sample("1.0.0"))
			} else if _, err = client.Pull(t.Context(), ref); err != nil && strings.Contains(err.Error(), "does not have it") {
				err = nil // nothing was pushed
			}
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{c.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTokenServiceIsNotTrusted(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request was redirected: %s %s", r.Method, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/empty":
			_, _ = io.WriteString(w, `{}`)
		case "/split":
			_, _ = io.WriteString(w, `{"token":"a\r\nX-Header: b"}`)
		case "/html":
			_, _ = io.WriteString(w, "<html>secret-token")
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat(" ", maxToken+1))
		case "/refuse":
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer service.Close()
	for challenge, want := range map[string]string{
		`Bearer realm="` + service.URL + `/redirect"`: "status 307",
		`Bearer realm="` + service.URL + `/empty"`:    "sends no token",
		`Bearer realm="` + service.URL + `/split"`:    "sends no token",
		`Bearer realm="` + service.URL + `/html"`:     "sends no valid JSON",
		`Bearer realm="` + service.URL + `/large"`:    "more than 131072 bytes",
		`Bearer realm="` + service.URL + `/refuse"`:   "refuses access: status 403",
		`Bearer realm="http://a.example/token"`:       "a token service that is not used: a.example would be reached without TLS",
		`Bearer realm="http://u:p@127.0.0.1/token"`:   "a token service that is not used: its address has a user name",
		`Bearer realm="file:///etc/passwd"`:           "a token service that is not used",
		`Bearer realm="%zz"`:                          "names no valid token service",
		`Bearer service="x"`:                          "names no valid token service",
		`Negotiate`:                                   "asks for a kind of credential that is not supported",
		``:                                            "asks for a kind of credential that is not supported",
	} {
		host := newRegistry(t, guarded("Bearer tok", func() string { return challenge }))
		client := &Client{Credential: static(Credential{Username: "me", Password: "pw"})}
		if _, err := client.Pull(t.Context(), reference(t, "oci://"+host+"/notes:1.0.0")); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%s: got %v, want %q", challenge, err, want)
		}
	}
}

// TestTokenServiceOfTLSRegistryNeedsTLS uses a registry with TLS on loopback, where plain HTTP would be allowed.
func TestTokenServiceOfTLSRegistryNeedsTLS(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the credential %q was sent without TLS", r.Header.Get("Authorization"))
	}))
	defer plain.Close()
	server := httptest.NewTLSServer(guarded("Bearer tok", func() string { return `Bearer realm="` + plain.URL + `"` })(http.NotFoundHandler()))
	defer server.Close()
	client := &Client{Credential: static(Credential{Username: "me", Password: "pw"})}
	client.HTTP.Transport = server.Client().Transport
	_, err := client.Pull(t.Context(), reference(t, "oci://"+strings.TrimPrefix(server.URL, "https://")+"/notes:1.0.0"))
	if err == nil || !strings.Contains(err.Error(), "a token service that is not used: its address is not https") {
		t.Errorf("got %v", err)
	}
}

// TestCredentialGoesToRegistryOnly has a registry redirect a blob to a host that asks for a credential, and name an upload there.
func TestCredentialGoesToRegistryOnly(t *testing.T) {
	me := Credential{Username: "me", Password: "pw"}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "" {
			t.Errorf("%s %s: the credential %q was sent to another host", r.Method, r.URL, got)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="elsewhere"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer elsewhere.Close()
	hostile := false
	host := newRegistry(t, func(good http.Handler) http.Handler {
		inner := guarded(me.basic(), func() string { return `Basic realm="registry"` })
		away := on("GET", "/blobs/sha256:", redirect(elsewhere.URL))(on("POST", "/blobs/uploads/", location(elsewhere.URL+"/upload"))(inner(good)))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if hostile {
				away.ServeHTTP(w, r)
				return
			}
			inner(good).ServeHTTP(w, r)
		})
	})
	ref, client := reference(t, "oci://"+host+"/notes:1.0.0"), &Client{Credential: static(me)}
	if _, err := client.Push(t.Context(), ref, sample("1.0.0")); err != nil {
		t.Fatal(err)
	}
	hostile = true
	if _, err := client.Pull(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("got %v", err)
	}
	ref.Tag = "2.0.0"
	if _, err := client.Push(t.Context(), ref, sample("2.0.0")); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("got %v", err)
	}
}

func TestParseChallenge(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`Bearer realm="https://a.example/t?x=1,2",service="s", scope="a b"`: {"realm": "https://a.example/t?x=1,2", "service": "s", "scope": "a b"},
		`Bearer Realm=x,service=y`:   {"realm": "x", "service": "y"},
		`Bearer realm="x",realm="y"`: {"realm": "x"},
		`Bearer`:                     {},
		`Bearer realm`:               {},
		`Bearer realm="open`:         {"realm": "open"},
	} {
		if scheme, got := parseChallenge(text); scheme != "Bearer" || cmp.Diff(want, got) != "" {
			t.Errorf("%s: got %s %v", text, scheme, got)
		}
	}
}

func TestDockerCredentials(t *testing.T) {
	bin := t.TempDir()
	if runtime.GOOS != "windows" {
		script := "#!/bin/sh\nread host\ncase $host in\nhelped.example) echo '{\"Username\":\"me\",\"Secret\":\"helped\"}';;\n" +
			"token.example) echo '{\"Username\":\"<token>\",\"Secret\":\"it\"}';;\nbroken.example) echo secret-text; exit 0;;\nfails.example) echo secret-text; exit 3;;\n" +
			"large.example) head -c 100000 /dev/zero;;\n*) echo 'credentials not found in native keychain'; exit 1;;\nesac\n"
		if err := os.WriteFile(filepath.Join(bin, "docker-credential-test"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	}
	auth := func(text string) map[string]string {
		return map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(text))}
	}
	config, err := json.Marshal(map[string]any{
		"auths": map[string]any{
			"plain.example:5000": auth("me:p:w"), "https://index.docker.io/v1/": auth("hub:pw"), "https://url.example/v1/": auth("me:url"),
			"identity.example": map[string]string{"identitytoken": "it"}, "empty.example": map[string]string{}, "bad.example": map[string]string{"auth": "secret-text"},
			"helped.example": map[string]string{},
		},
		"credHelpers": map[string]string{"helped.example": "test", "token.example": "test", "broken.example": "test", "fails.example": "test", "none.example": "test",
			"large.example": "test", "path.example": "../evil", "absent.example": "not-installed"},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.json")
	testenv.WriteFile(t, file, string(config))
	for registry, c := range map[string]struct {
		want    Credential
		err     string
		program bool
	}{
		"plain.example:5000": {want: Credential{Username: "me", Password: "p:w"}},
		"plain.example":      {},
		"docker.io":          {want: Credential{Username: "hub", Password: "pw"}},
		"url.example":        {want: Credential{Username: "me", Password: "url"}},
		"identity.example":   {want: Credential{IdentityToken: "it"}},
		"empty.example":      {},
		"unknown.example":    {},
		"bad.example":        {err: "the entry auths of bad.example is not valid"},
		"helped.example":     {want: Credential{Username: "me", Password: "helped"}, program: true},
		"token.example":      {want: Credential{IdentityToken: "it"}, program: true},
		"none.example":       {program: true},
		"broken.example":     {err: "docker-credential-test printed no credential", program: true},
		"fails.example":      {err: "docker-credential-test failed", program: true},
		"large.example":      {err: "docker-credential-test failed", program: true},
		"path.example":       {err: `the name of the credential helper "../evil" is not valid`},
		"absent.example":     {err: "docker-credential-not-installed failed"},
	} {
		if c.program && runtime.GOOS == "windows" {
			continue
		}
		got, err := DockerCredentials(file)(t.Context(), registry)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret-text")) {
			t.Errorf("%s: got %+v, %v; want %+v, %q", registry, got, err, c.want, c.err)
		}
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", Credential{Password: "secret-text"}, Credential{Password: "secret-text"}, Credential{IdentityToken: "secret-text"}), "secret-text") {
		t.Error("a credential is printed with its secret")
	}
}

func TestDockerConfigFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	if got, err := DockerCredentials(file)(t.Context(), "a.example"); got != (Credential{}) || err != nil {
		t.Errorf("without a file: got %v, %v", got, err)
	}
	testenv.WriteFile(t, file, "secret-text")
	if _, err := DockerCredentials(file)(t.Context(), "a.example"); err == nil || !strings.Contains(err.Error(), "is not valid JSON") || strings.Contains(err.Error(), "secret-text") {
		t.Errorf("got %v", err)
	}
	env := map[string]string{"HOME": "/home/me"}
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	if got := DockerConfig(lookup); got != filepath.Join("/home/me", ".docker", "config.json") {
		t.Errorf("got %s", got)
	}
	if env["DOCKER_CONFIG"] = "/d"; DockerConfig(lookup) != filepath.Join("/d", "config.json") {
		t.Errorf("got %s", DockerConfig(lookup))
	}
	delete(env, "HOME")
	if delete(env, "DOCKER_CONFIG"); DockerConfig(lookup) != "" {
		t.Errorf("got %s", DockerConfig(lookup))
	}
}
