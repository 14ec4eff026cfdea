package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	inprocess "github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// newRegistry starts a registry in this process, behind a handler, and returns its host.
func newRegistry(t *testing.T, around func(http.Handler) http.Handler) string {
	t.Helper()
	var handler = inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0)))
	if around != nil {
		handler = around(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func reference(t *testing.T, text string) Reference {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatalf("%s %v", text, err)
	}
	return r
}

func sample(version string) Artifact {
	return Artifact{Title: "notes", Version: version, Content: bytes.Repeat([]byte(version), 1000), Signature: []byte("signature of " + version)}
}

func TestPushAndPull(t *testing.T) {
	host, client := newRegistry(t, nil), &Client{}
	for _, version := range []string{"1.0.0", "1.1.0+build.5"} {
		ref := reference(t, "oci://"+host+"/team/notes:"+TagOf(version))
		want := sample(version)
		if version != "1.0.0" {
			want.Signature = nil
		}
		digest, err := client.Push(t.Context(), ref, want)
		if err != nil {
			t.Fatal(err)
		}
		want.Digest = digest
		byDigest := ref
		byDigest.Tag, byDigest.Digest = "", digest
		both := ref
		both.Digest = digest
		for _, from := range []Reference{ref, byDigest, both} {
			got, err := client.Pull(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("%s: %s", from, diff)
			}
		}
	}
	tags, err := client.Tags(t.Context(), reference(t, "oci://"+host+"/team/notes"))
	if want := []string{"1.0.0", "1.1.0_build.5"}; err != nil || !slices.Equal(tags, want) {
		t.Errorf("got the tags %q, %v; want %q", tags, err, want)
	}
	for text, want := range map[string]string{
		"/team/notes:9.9.9":                                "the registry does not have it: status 404 (Not Found), MANIFEST_UNKNOWN",
		"/team/other:1.0.0":                                "the registry does not have it",
		"/team/notes@sha256:" + strings.Repeat("0", 64):    "the registry does not have it",
		"/team/notes":                                      "it has neither tag nor digest",
		"/team/notes:1.0.0@sha256:" + userfile.Digest(nil): "the registry does not have it",
	} {
		if _, err := client.Pull(t.Context(), reference(t, "oci://"+host+text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestManifestDependsOnContentOnly(t *testing.T) {
	a, err := encode(sample("1.0.0"))
	const want = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.bulkhead.plugin.v1",` +
		`"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},` +
		`"layers":[{"mediaType":"application/vnd.bulkhead.plugin.archive.v1.tar","digest":"sha256:3f65c862ee6b54e69822c4966ed1dfeccc1900b005772c8e35e96dac6c6dd90e","size":5000,"annotations":{"org.opencontainers.image.title":"notes.tar"}},` +
		`{"mediaType":"application/vnd.bulkhead.plugin.signature.v1","digest":"sha256:1681331755a4276ab4c19ac1be7fcc7df56e5ca4293bcc103185c36af3289255","size":18,"annotations":{"org.opencontainers.image.title":"notes.tar.minisig"}}],` +
		`"annotations":{"org.opencontainers.image.title":"notes","org.opencontainers.image.version":"1.0.0"}}`
	if diff := cmp.Diff(want, string(a)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestPushDoesNotMoveVersions(t *testing.T) {
	host, client := newRegistry(t, nil), &Client{}
	push := func(tag, version string) error {
		_, err := client.Push(t.Context(), reference(t, "oci://"+host+"/notes:"+tag), sample(version))
		return err
	}
	for _, c := range []struct{ tag, version, want string }{
		{"1.0.0", "1.0.0", ""},
		{"1.0.0", "1.0.0", ""}, // the same again
		{"1.0.0", "1.0.1", "has another artifact under this version"},
		{"v1.0.0", "1.0.0", ""},
		{"v1.0.0", "1.0.1", "has another artifact under this version"},
		{"1.0.0_b.1", "1.0.0", ""},
		{"1.0.0_b.1", "1.0.1", "has another artifact under this version"},
		{"latest", "1.0.0", ""},
		{"latest", "1.0.1", ""},
		{"1.0", "1.0.0", ""},
		{"1.0", "1.0.1", ""},
	} {
		if err := push(c.tag, c.version); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %s: got %v, want %q", c.version, c.tag, err, c.want)
		}
	}
	for tag, want := range map[string]string{"1.0.0": "1.0.0", "latest": "1.0.1"} {
		if got, err := client.Pull(t.Context(), reference(t, "oci://"+host+"/notes:"+tag)); err != nil || got.Version != want {
			t.Errorf("%s: got %+v, %v", tag, got, err)
		}
	}
	for _, to := range []string{"/notes", "/notes:1@sha256:" + strings.Repeat("0", 64)} {
		if _, err := client.Push(t.Context(), reference(t, "oci://"+host+to), sample("1")); err == nil || !strings.Contains(err.Error(), "is pushed to a tag") {
			t.Errorf("%s: got %v", to, err)
		}
	}
}

func TestParseReference(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for text, want := range map[string]Reference{
		"oci://registry.example.com/team/notes:1.0":    {"registry.example.com", "team/notes", "1.0", ""},
		"oci://localhost:5000/notes@" + digest:         {"localhost:5000", "notes", "", digest},
		"oci://[::1]:5000/n0/a.b/c_d/e__f/g--h:T_a-.g": {"[::1]:5000", "n0/a.b/c_d/e__f/g--h", "T_a-.g", ""},
		"oci://docker.io/notes:1":                      {"docker.io", "library/notes", "1", ""},
		"oci://a.example/notes:1@" + digest:            {"a.example", "notes", "1", digest},
		"oci://a.example/notes":                        {"a.example", "notes", "", ""},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("%s: formatted as %s: got %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{
		"", "notes", "https://a.example/notes", "oci://", "oci://a.example", "oci://a.example/", "oci:///notes", "oci://a.example/Notes", "oci://a.example/notes:",
		"oci://a.example/notes:-1", "oci://a.example/notes:.1", "oci://a.example/notes:a/b", "oci://a.example/notes:" + strings.Repeat("x", 129),
		"oci://a.example/notes@sha256:00", "oci://a.example/notes@", "oci://a.example/notes@" + strings.ToUpper(digest), "oci://a.example/../notes", "oci://a.example/a//b",
		"oci://a.example/a___b", "oci://a.example/a._b", "oci://a.example/-a", "oci://a.example/a-", "oci://user@a.example/notes", "oci://A.example/notes", "oci://a.example:443/notes",
		"oci://a.example:x/notes", "oci://a.example/notes?x", "oci://a.example/notes#x", "oci://a.example/n%6ftes", "oci://a example/notes", "oci://a.example/" + strings.Repeat("x", 256),
		"oci://127.1/notes", "oci://a.example/nötes",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%s was parsed as %+v", text, got)
		}
	}
}

// on applies change to the responses of requests whose method and path it matches.
func on(method, path string, change func(w http.ResponseWriter, r *http.Request, good *httptest.ResponseRecorder)) func(http.Handler) http.Handler {
	return func(good http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != method || !strings.Contains(r.URL.Path, path) {
				good.ServeHTTP(w, r)
				return
			}
			recorded := httptest.NewRecorder()
			good.ServeHTTP(recorded, r)
			change(w, r, recorded)
		})
	}
}

// send sends a response with another body.
func send(w http.ResponseWriter, good *httptest.ResponseRecorder, body []byte) {
	for name, values := range good.Header() {
		if name != "Content-Length" && name != "Docker-Content-Digest" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(good.Code)
	_, _ = w.Write(body)
}

// replacing replaces a string in manifests that are sent.
func replacing(old, fresh string) func(http.Handler) http.Handler {
	return on(http.MethodGet, "/manifests/", func(w http.ResponseWriter, _ *http.Request, good *httptest.ResponseRecorder) {
		send(w, good, bytes.Replace(good.Body.Bytes(), []byte(old), []byte(fresh), 1))
	})
}

// sending replaces the body of a path.
func sending(path string, body func(good []byte) []byte) func(http.Handler) http.Handler {
	return on(http.MethodGet, path, func(w http.ResponseWriter, _ *http.Request, good *httptest.ResponseRecorder) {
		send(w, good, body(good.Body.Bytes()))
	})
}

func TestPullRefusesHostileRegistry(t *testing.T) {
	want := sample("1.0.0")
	archiveDigest, signatureDigest := userfile.Digest(want.Content), userfile.Digest(want.Signature)
	content, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	digest := "sha256:" + userfile.Digest(content)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "" {
			t.Errorf("the credential %q was sent to the target of a redirect", got)
		}
		_, _ = w.Write(want.Content[1:])
	}))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		around   func(http.Handler) http.Handler
		byDigest bool
		want     string
	}{
		"other bytes of the archive":         {sending("/blobs/sha256:"+archiveDigest, func(b []byte) []byte { return append([]byte("X"), b[1:]...) }), false, "sends other bytes than those with the digest sha256:" + archiveDigest},
		"other bytes of the signature":       {sending("/blobs/sha256:"+signatureDigest, func(b []byte) []byte { return append([]byte("X"), b[1:]...) }), false, "sends other bytes than those with the digest sha256:" + signatureDigest},
		"a short archive":                    {sending("/blobs/sha256:"+archiveDigest, func(b []byte) []byte { return b[1:] }), false, "in place of the 5000 that the manifest declares"},
		"a long archive":                     {sending("/blobs/sha256:"+archiveDigest, func(b []byte) []byte { return append(b, 'X') }), false, "the server sends more than 5000 bytes"},
		"an endless archive":                 {on("GET", "/blobs/sha256:"+archiveDigest, endless), false, "the server sends more than 5000 bytes"},
		"a truncated archive":                {on("GET", "/blobs/sha256:"+archiveDigest, truncated), false, "the server ended the connection after 10 bytes"},
		"a redirect to other bytes":          {on("GET", "/blobs/sha256:"+archiveDigest, redirect(elsewhere.URL)), false, "sends 4999 bytes in place of the 5000"},
		"a redirect to another scheme":       {on("GET", "/blobs/sha256:"+archiveDigest, redirect("gopher://a.example/")), false, "is not the URL of a web server"},
		"another manifest for the digest":    {replacing("notes", "notez"), true, "sends a manifest with the digest"},
		"a wrong header of the digest":       {on("GET", "/manifests/", lyingDigest), false, "sends a manifest with the digest"},
		"an endless manifest":                {on("GET", "/manifests/", endless), false, "its manifest: the server sends more than 1048576 bytes"},
		"no JSON":                            {sending("/manifests/", func([]byte) []byte { return []byte("<html>") }), false, "its manifest is not valid"},
		"another media type in the header":   {on("GET", "/manifests/", asIndex), false, "it is no image manifest of OCI: its media type is \"application/vnd.oci.image.index"},
		"another media type in the manifest": {replacing(`"mediaType":"application/vnd.oci.image.manifest.v1+json"`, `"mediaType":"application/vnd.docker.distribution.manifest.v2+json"`), false, "it is no image manifest of OCI"},
		"another schema version":             {replacing(`"schemaVersion":2`, `"schemaVersion":1`), false, "it is no image manifest of OCI"},
		"another type of artifact":           {replacing(Plugin.artifactType(), "application/vnd.example"), false, `it is no plugin: its artifact type is "application/vnd.example"`},
		"an unknown layer":                   {replacing(signatureType, "application/x"), false, `it has a layer of the type "application/x"`},
		"two archives":                       {replacing(signatureType, "application/vnd.bulkhead.plugin.archive.v1.tar"), false, "it has two layers of the type application/vnd.bulkhead.plugin.archive.v1.tar"},
		"no archive":                         {sending("/manifests/", func(b []byte) []byte { return withoutLayers(b) }), false, "it has no layer with its content"},
		"a size beyond the bounds":           {replacing(`"size":5000`, `"size":100663297`), false, "would have 100663297 bytes, of at most 100663296"},
		"a large signature":                  {replacing(`"size":18`, `"size":4097`), false, "would have 4097 bytes, of at most 4096"},
		"a negative size":                    {replacing(`"size":5000`, `"size":-1`), false, "would have -1 bytes"},
		"a size that is not that":            {replacing(`"size":5000`, `"size":6000`), false, "sends 5000 bytes in place of the 6000"},
		"a size beyond 64 bits":              {replacing(`"size":5000`, `"size":1e300`), false, "its manifest is not valid"},
		"a path for a digest":                {replacing("sha256:"+archiveDigest, "../../../etc"), false, "is not sha256: with 64 hexadecimal digits"},
		"another algorithm":                  {replacing("sha256:"+archiveDigest, "sha512:"+archiveDigest), false, "is not sha256: with 64 hexadecimal digits"},
		"an error with text":                 {on("GET", "/manifests/", failing), false, "the registry answers with status 500 (Internal Server Error), DENIED"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := false
			host := newRegistry(t, func(good http.Handler) http.Handler {
				hostile := c.around(good)
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if bad {
						hostile.ServeHTTP(w, r)
						return
					}
					good.ServeHTTP(w, r)
				})
			})
			client := &Client{}
			ref := reference(t, "oci://"+host+"/notes:1.0.0")
			if _, err := client.Push(t.Context(), ref, want); err != nil {
				t.Fatal(err)
			}
			if bad = true; c.byDigest {
				ref.Digest = digest
			}
			got, err := client.Pull(t.Context(), ref)
			if err == nil || got != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "text of the registry") {
				t.Errorf("got an artifact: %t, %v; want %q", got != nil, err, c.want)
			}
			if err != nil && len(err.Error()) > 600 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func endless(w http.ResponseWriter, _ *http.Request, good *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", good.Header().Get("Content-Type"))
	block := bytes.Repeat([]byte(" "), 1<<16)
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func truncated(w http.ResponseWriter, _ *http.Request, good *httptest.ResponseRecorder) {
	w.Header().Set("Content-Length", fmt.Sprint(good.Body.Len()))
	_, _ = w.Write(good.Body.Bytes()[:10])
}

func redirect(to string) func(http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) {
	return func(w http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}
}

func lyingDigest(w http.ResponseWriter, _ *http.Request, good *httptest.ResponseRecorder) {
	w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
	send(w, good, good.Body.Bytes())
}

func asIndex(w http.ResponseWriter, _ *http.Request, good *httptest.ResponseRecorder) {
	good.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
	send(w, good, good.Body.Bytes())
}

func failing(w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `{"errors":[{"code":"DENIED","message":"text of the registry"},{"code":"text of the registry"}]}`)
}

func withoutLayers(manifest []byte) []byte {
	before, _, _ := bytes.Cut(manifest, []byte(`"layers":[`))
	return append(before, `"layers":[]}`...)
}

// TestMovedTagHasNoEffectOnPull moves the tag after the manifest was sent.
func TestMovedTagHasNoEffectOnPull(t *testing.T) {
	host, client := "", &Client{}
	moved := false
	host = newRegistry(t, func(good http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if good.ServeHTTP(w, r); moved || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/manifests/latest") || w.Header().Get("Docker-Content-Digest") == "" {
				return
			}
			moved = true
			if _, err := client.Push(t.Context(), reference(t, "oci://"+host+"/notes:latest"), sample("2.0.0")); err != nil {
				t.Error(err)
			}
		})
	})
	moved = true
	ref := reference(t, "oci://"+host+"/notes:latest")
	if _, err := client.Push(t.Context(), ref, sample("1.0.0")); err != nil {
		t.Fatal(err)
	}
	moved = false
	got, err := client.Pull(t.Context(), ref)
	if err != nil || got.Version != "1.0.0" || !bytes.Equal(got.Content, sample("1.0.0").Content) || !moved {
		t.Errorf("got %+v, %v, moved %t", got, err, moved)
	}
}

func TestPushReportsFailures(t *testing.T) {
	for name, c := range map[string]struct {
		around func(http.Handler) http.Handler
		want   string
	}{
		"no address for the upload":         {on("POST", "/blobs/uploads/", location("")), "names no valid address for the upload"},
		"a plain address elsewhere":         {on("POST", "/blobs/uploads/", location("http://a.example/x")), "names an address for the upload that is not used"},
		"another manifest than was sent":    {on("PUT", "/manifests/", lyingDigest), "stored a manifest with the digest"},
		"no space":                          {on("PUT", "/blobs/uploads/", failing), "the registry answers with status 500"},
		"the manifest is refused":           {on("PUT", "/manifests/", failing), "the registry answers with status 500"},
		"an error when the tag is resolved": {on("GET", "/manifests/", failing), "the registry answers with status 500"},
	} {
		t.Run(name, func(t *testing.T) {
			host := newRegistry(t, c.around)
			if _, err := (&Client{}).Push(t.Context(), reference(t, "oci://"+host+"/notes:1.0.0"), sample("1.0.0")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func location(to string) func(http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) {
	return func(w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusAccepted)
	}
}

func TestTagsRefuse(t *testing.T) {
	for name, c := range map[string]struct{ body, link, want string }{
		"no JSON":                    {"<html>", "", "its list of tags is not valid"},
		"an endless list of pages":   {`{"tags":["1.0.0"]}`, `</v2/notes/tags/list?last=x>; rel="next"`, "more than 100 pages"},
		"a next page elsewhere":      {`{"tags":["1.0.0"]}`, `<http://127.0.0.1:1/v2/notes/tags/list>; rel="next"`, "continues at another host"},
		"a next page that is no URL": {`{"tags":["1.0.0"]}`, `<http://%zz>; rel="next"`, "at an address that is not valid"},
		"very many tags":             {`{"tags":[` + strings.Repeat(`"1.0.0",`, 10000) + `"1.0.0"]}`, "", "more than 10000 tags"},
		"a large list":               {strings.Repeat(" ", maxManifest+1), "", "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			host := newRegistry(t, on("GET", "/tags/list", func(w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
				if c.link != "" {
					w.Header().Set("Link", c.link)
				}
				_, _ = io.WriteString(w, c.body)
			}))
			if _, err := (&Client{}).Tags(t.Context(), reference(t, "oci://"+host+"/notes")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestTagsOfSeveralPages(t *testing.T) {
	host := newRegistry(t, on("GET", "/tags/list", func(w http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
		if r.URL.Query().Get("last") == "" {
			w.Header().Set("Link", `</v2/notes/tags/list?last=1.1.0&n=2>; rel="next"`)
			_, _ = io.WriteString(w, `{"name":"notes","tags":["1.0.0","1.1.0","not\u001b[31m a tag"]}`)
			return
		}
		_, _ = io.WriteString(w, `{"name":"notes","tags":["1.2.0"]}`)
	}))
	got, err := (&Client{}).Tags(t.Context(), reference(t, "oci://"+host+"/notes"))
	if want := []string{"1.0.0", "1.1.0", "1.2.0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestPullIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	host := newRegistry(t, on("GET", "/manifests/", func(_ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
		cancel()
		<-r.Context().Done()
	}))
	if _, err := (&Client{}).Pull(ctx, reference(t, "oci://"+host+"/notes:1.0.0")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	good, err := encode(sample("1.0.0"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		for kind, limit := range map[Kind]int64{Plugin: 96 << 20, Document: 1 << 20} {
			_, layer, sig, err := decode(content, kind)
			if err == nil && (!isDigest(layer.Digest) || layer.Size <= 0 || layer.Size > limit || sig.Size < 0 || sig.Size > 4<<10) {
				t.Errorf("accepted %+v, %+v", layer, sig)
			}
		}
	})
}
