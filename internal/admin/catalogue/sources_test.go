package catalogue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func fetcher(string) *source.Fetcher { return &source.Fetcher{} }

func newKey(t *testing.T) signature.Private {
	t.Helper()
	key, err := signature.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// listed is an entry. Its digest is that of its name, version and signer, as if those made its content.
func listed(name, version string, signer signature.Key) catalogue.Entry {
	sum := fmt.Sprintf("%064x", []byte(name + version + signer.ID())[:min(32, len(name+version+signer.ID()))])
	return catalogue.Entry{Name: name, Version: version, Description: "It is " + name, From: "oci://plugins.example/" + name + ":" + version, SHA256: sum[len(sum)-64:], Signer: signer}
}

// publish writes a catalogue and its signature to files of the workspace.
func publish(t *testing.T, w *admintest.Workspace, file string, key signature.Private, serial int64, entries ...catalogue.Entry) {
	t.Helper()
	content := (&catalogue.Catalogue{Serial: serial, Entries: entries}).Encode()
	sig, err := key.Sign(bytes.NewReader(content), "catalogue")
	if err != nil {
		t.Fatal(err)
	}
	w.Write(t, file, string(content))
	w.Write(t, file+".minisig", string(sig))
}

// tableOf returns [sources] with catalogues, each an address followed by a key.
func tableOf(catalogues ...string) string {
	var items []string
	for i := 0; i < len(catalogues); i += 2 {
		items = append(items, fmt.Sprintf("{ from = %q, key = %q }", catalogues[i], catalogues[i+1]))
	}
	return "[sources]\ncatalogues = [" + strings.Join(items, ", ") + "]\n"
}

func load(t *testing.T, o discovery.Options, maxAge time.Duration) *catalogue.Sources {
	t.Helper()
	s, err := catalogue.Open(o)
	if err == nil {
		err = s.Load(t.Context(), maxAge, fetcher)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func find(t *testing.T, s *catalogue.Sources, text string) (*catalogue.Found, error) {
	t.Helper()
	name, err := catalogue.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Find(name)
}

// wantFound fails if a name does not stand for a version.
func wantFound(t *testing.T, s *catalogue.Sources, text, want string) {
	t.Helper()
	found, err := find(t, s, text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
	} else if got := found.Name + " " + found.Version + " " + found.Operator; strings.TrimSpace(got) != want {
		t.Errorf("%s is %s, want %s", text, got, want)
	}
}

// TestOlderCatalogueIsRefused has a server publish a catalogue, an older one, another one with the same number, one with another signer, one that is
// not valid, and nothing: the copy that was fetched stays in use.
func TestOlderCatalogueIsRefused(t *testing.T) {
	w := admintest.New(t)
	key := newKey(t)
	pub := key.Public()
	var requests atomic.Int32
	files := http.FileServer(http.Dir(w.Path("web")))
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		files.ServeHTTP(rw, r)
	}))
	defer server.Close()
	from := server.URL + "/catalogue.toml"
	w.Config(t, tableOf(from, pub.String()))
	if s := load(t, w.Options(), catalogue.Offline); s.Lists[0].Problem == nil || s.Lists[0].Serial != 0 || requests.Load() != 0 {
		t.Errorf("offline without a copy: %+v after %d requests", s.Lists[0], requests.Load())
	}
	publish(t, w, "web/catalogue.toml", key, 1, listed("notes", "1.0.0", pub))
	if s := load(t, w.Options(), 0); s.Lists[0].Problem != nil || s.Lists[0].Serial != 1 {
		t.Fatalf("%+v", s.Lists)
	}
	publish(t, w, "web/catalogue.toml", key, 2, listed("notes", "1.1.0", pub))
	before := requests.Load()
	for _, age := range []time.Duration{catalogue.FreshTime, catalogue.Offline} {
		wantFound(t, load(t, w.Options(), age), "notes", "notes 1.0.0 ^")
	}
	if requests.Load() != before {
		t.Errorf("%d requests although the copy is fresh", requests.Load()-before)
	}
	wantFound(t, load(t, w.Options(), 0), "notes", "notes 1.1.0 ^")

	for want, change := range map[string]func(){
		"serial number 1, and number 2 was fetched": func() { publish(t, w, "web/catalogue.toml", key, 1, listed("notes", "1.0.0", pub)) },
		"the serial number 2 and other content":     func() { publish(t, w, "web/catalogue.toml", key, 2, listed("notes", "1.2.0", pub)) },
		"it is signed with another key":             func() { publish(t, w, "web/catalogue.toml", newKey(t), 3, listed("notes", "1.2.0", pub)) },
		"it is not signed, and must be signed":      func() { admintest.RemoveFile(t, w, "web/catalogue.toml.minisig") },
		"catalogue.toml:6: plugins[0].name":         func() { publish(t, w, "web/catalogue.toml", key, 3, listed("Notes", "1.2.0", pub)) },
		"is on this machine, and the catalogue is not": func() {
			e := listed("notes", "1.2.0", pub)
			e.From = "file:/etc/passwd"
			publish(t, w, "web/catalogue.toml", key, 3, e)
		},
		"answers with status 404": func() { admintest.RemoveFile(t, w, "web/catalogue.toml") },
	} {
		publish(t, w, "web/catalogue.toml", key, 2, listed("notes", "1.1.0", pub))
		change()
		s := load(t, w.Options(), 0)
		if l := s.Lists[0]; l.Problem == nil || !strings.Contains(l.Problem.Error(), want) || l.Serial != 2 || l.Kept.IsZero() {
			t.Errorf("%s: got %+v", want, l)
		}
		wantFound(t, s, "notes", "notes 1.1.0 ^")
		if _, err := find(t, s, "nothing"); err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), ": "+from+": ") > 1 {
			t.Errorf("the error for an unknown name is %v", err)
		}
	}
	// A copy that is older than the clock allows is not taken for fresh.
	server.Close()
	copies, err := os.ReadDir(w.Path("home/.local/share/bulkhead/catalogues"))
	if err != nil || len(copies) != 2 {
		t.Fatal(copies, err)
	}
	future := time.Now().Add(24 * time.Hour)
	for _, e := range copies {
		if err := os.Chtimes(w.Path("home/.local/share/bulkhead/catalogues/"+e.Name()), future, future); err != nil {
			t.Fatal(err)
		}
	}
	if s := load(t, w.Options(), catalogue.FreshTime); s.Lists[0].Problem == nil {
		t.Error("a copy from the future was taken for fresh")
	}
}

// trickle is a server that sends a byte every 20 seconds.
type trickle struct{}

func (trickle) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Request: r, Body: io.NopCloser(drops{r.Context()})}, nil
}

type drops struct{ ctx context.Context }

func (d drops) Read(p []byte) (int, error) {
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(20 * time.Second):
		p[0] = '#'
		return 1, nil
	}
}

func TestFetchingIsBoundedInTime(t *testing.T) {
	w := admintest.New(t)
	w.Config(t, tableOf("https://plugins.example/catalogue.toml", newKey(t).Public().String(), "https://other.example/catalogue.toml", newKey(t).Public().String()))
	synctest.Test(t, func(t *testing.T) {
		s, err := catalogue.Open(w.Options())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err = s.Load(t.Context(), 0, func(string) *source.Fetcher { return &source.Fetcher{Transport: trickle{}} })
		if took := time.Since(begin); err != nil || took != time.Minute {
			t.Errorf("it took %s, %v", took, err)
		}
		for _, l := range s.Lists {
			if l.Problem == nil || !strings.Contains(l.Problem.Error(), "could not be fetched within 1m0s") {
				t.Errorf("got %v", l.Problem)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("interrupted"))
		if err := s.Load(ctx, 0, fetcher); err == nil || err.Error() != "interrupted" {
			t.Errorf("got %v", err)
		}
	})
}

func TestNamesOfCatalogues(t *testing.T) {
	w := admintest.New(t)
	ada, grace, first, second := newKey(t), newKey(t), newKey(t), newKey(t)
	a, g := ada.Public(), grace.Public()
	publish(t, w, "first.toml", first, 1, listed("notes", "1.0.0", a), listed("notes", "1.2.0", a), listed("notes", "1.10.0", a), listed("notes", "2.0.0-rc.1", a),
		listed("chant", "1.0.0", a), listed("early", "1.0.0-rc.1", a), listed("cal", "1.0.0", a), listed("acme-pay", "1.0.0", g), listed("acme-pay", "9.0.0", a), listed("plain", "1.0.0", signature.Key{}))
	publish(t, w, "second.toml", second, 1, listed("notes", "1.11.0", a), listed("chant", "1.0.0", g), listed("ca1", "1.0.0", g), listed("plain", "1.0.0", signature.Key{}))
	w.Config(t, tableOf(w.Path("first.toml"), first.Public().String(), w.Path("second.toml"), second.Public().String())+
		"[sources.keys]\n\"acme-*\" = [\""+g.String()+"\"]\n")
	s := load(t, w.Options(), 0)
	for text, want := range map[string]string{
		"notes": "notes 1.11.0 ^", "notes@*": "notes 1.11.0 ^", "notes@1": "notes 1.11.0 ^", "notes@1.2": "notes 1.2.0 ~", "notes@^1.1": "notes 1.11.0 ^", "notes@~1.10.0": "notes 1.10.0 ~",
		"notes@1.0.0": "notes 1.0.0", "notes@2.0.0-rc.1": "notes 2.0.0-rc.1", "early": "early 1.0.0-rc.1 ^", "acme-pay": "acme-pay 1.0.0 ^", "plain": "plain 1.0.0 ^",
	} {
		wantFound(t, s, text, want)
	}
	for text, wants := range map[string][]string{
		"chant":          {`"chant" is not one plugin`, "signed with " + a.String() + ": bulkhead add 'oci://plugins.example/chant:1.0.0'", "signed with " + g.String()},
		"chant@1.0.0":    {`"chant" is not one plugin`},
		"notse":          {`there is no plugin "notse"`, w.Path("first.toml"), `did you mean "notes"?`},
		"somewhat":       {"there are acme-pay, ca1, cal, chant, early, notes, plain"},
		"notes@3":        {"there is no version of notes in the range ^3.0.0: there are 2.0.0-rc.1, 1.11.0, 1.10.0"},
		"notes@1.0.1":    {"there is no version of notes in the range 1.0.1"},
		"acme-pay@9.0.0": {"there are 1.0.0", "acme-pay 9.0.0 of " + w.Path("first.toml") + " is left out: it is signed with the key " + a.String() + `, which sources.keys."acme-*"`},
	} {
		_, err := find(t, s, text)
		hosttest.WantUsage(t, err, wants...)
	}
	if found, err := find(t, s, "cal"); err != nil || !cmp.Equal(found.LooksLike, []string{"ca1"}) {
		t.Errorf("%+v, %v", found, err)
	}
	for text, want := range map[string]string{"Notes": "is not the name of a plugin", "n\u043ftes": "is not the name", "notes@": "is not a version", "notes@x": "is not a version", "notes@^": "is not a version", "notes@>=1": "is not a version", "notes@1.2.3.4": "is not a version"} {
		if n, err := catalogue.ParseName(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, n, err)
		}
	}
}

// TestCatalogueCannotBorrowASigner has a second catalogue repeat a version of the first one, to add a newer one of another signer.
func TestCatalogueCannotBorrowASigner(t *testing.T) {
	w := admintest.New(t)
	ada, mallory, first, second := newKey(t).Public(), newKey(t).Public(), newKey(t), newKey(t)
	publish(t, w, "first.toml", first, 1, listed("notes", "1.0.0", ada))
	publish(t, w, "second.toml", second, 1, listed("notes", "1.0.0", ada), listed("notes", "9.0.0", mallory))
	w.Config(t, tableOf(w.Path("first.toml"), first.Public().String(), w.Path("second.toml"), second.Public().String()))
	s := load(t, w.Options(), 0)
	_, err := find(t, s, "notes")
	hosttest.WantUsage(t, err, `"notes" is not one plugin`, mallory.String())
	wantFound(t, s, "notes@1.0.0", "notes 1.0.0")
	// One version with two digests.
	changed := listed("notes", "1.0.0", ada)
	changed.SHA256 = strings.Repeat("ab", 32)
	publish(t, w, "second.toml", second, 2, changed)
	_, err = find(t, load(t, w.Options(), 0), "notes")
	hosttest.WantUsage(t, err, "notes 1.0.0 in the catalogue "+w.Path("second.toml")+" is not the one in "+w.Path("first.toml"))
}

func TestCeilingNamesTheCatalogues(t *testing.T) {
	w := admintest.New(t)
	ada, own, organisation := newKey(t).Public(), newKey(t), newKey(t)
	publish(t, w, "own.toml", own, 1, listed("notes", "9.0.0", ada), listed("mine", "1.0.0", ada))
	publish(t, w, "organisation.toml", organisation, 1, listed("notes", "1.0.0", ada), listed("acme-pay", "1.0.0", ada))
	w.Config(t, tableOf(w.Path("own.toml"), own.Public().String())+"[sources.keys]\n\"acme-*\" = [\""+ada.String()+"\"]\n")
	o := w.Options()
	ceiling := tableOf(w.Path("organisation.toml"), organisation.Public().String())
	for name, keys := range map[string]string{"pinned": "[sources.keys]\n\"acme-*\" = []\n", "": ""} {
		w.Write(t, "etc/ceiling.toml", ceiling+keys)
		o.System = discovery.WithCeiling(o.System, w.Path("etc/ceiling.toml"), os.Getuid(), w.Path("home"))
		s := load(t, o, 0)
		wantFound(t, s, "notes", "notes 1.0.0 ^")
		_, err := find(t, s, "mine")
		hosttest.WantUsage(t, err, `there is no plugin "mine"`)
		// The config's keys do not loosen those of the ceiling.
		if found, err := find(t, s, "acme-pay"); (err == nil) != (name == "") {
			t.Errorf("%q: %+v, %v", name, found, err)
		}
	}
}

func TestCataloguesOfUntrustedConfigAreNotUsed(t *testing.T) {
	w := admintest.New(t)
	key := newKey(t)
	publish(t, w, "list.toml", key, 1, listed("notes", "1.0.0", key.Public()))
	w.Config(t, tableOf(w.Path("list.toml"), key.Public().String()))
	s := load(t, w.Discovering(), 0)
	if len(s.Lists) != 0 || s.Unused == nil {
		t.Errorf("%+v", s)
	}
	_, err := find(t, s, "notes")
	hosttest.WantUsage(t, err, "the catalogues of the config are not used", "is not trusted")
	wantFound(t, load(t, w.Options(), 0), "notes", "notes 1.0.0 ^")
}

// TestPluginsOfTheProgram has plugins and a catalogue beside the program.
func TestPluginsOfTheProgram(t *testing.T) {
	w := admintest.New(t)
	key := newKey(t)
	w.Plugin(t, "first", "")
	w.Plugin(t, "shared", "")
	o := w.Options()
	o.System.Executable = w.Path("bulkhead")
	publish(t, w, "plugins/catalogue.toml", key, 1, listed("more", "1.0.0", key.Public()), listed("first", "2.0.0", key.Public()))
	publish(t, w, "list.toml", key, 1, listed("shared", "3.0.0", key.Public()))
	admintest.RemoveFile(t, w, "plugins/catalogue.toml.minisig")
	w.Config(t, tableOf(w.Path("list.toml"), key.Public().String()))
	o.ConfigFile = "bulkhead.toml"
	s := load(t, o, 0)
	for text, want := range map[string]string{"first": "first 1.0.0 ^", "first@2": "first 2.0.0 ^", "more": "more 1.0.0 ^", "shared": "shared 3.0.0 ^"} {
		wantFound(t, s, text, want)
	}
	if found, err := find(t, s, "first"); err != nil || found.Dir != w.Path("plugins/first") || found.Catalogue != "" {
		t.Errorf("%+v, %v", found, err)
	}
	_, err := find(t, s, "first@3")
	hosttest.WantUsage(t, err, "there is no version of first in the range ^3.0.0: there are 2.0.0, 1.0.0")
	var names []string
	for _, m := range s.Search("") {
		names = append(names, m.Name+" "+m.Version)
	}
	if diff := cmp.Diff([]string{"first 1.0.0", "first 2.0.0", "more 1.0.0", "shared 3.0.0", "shared 1.0.0"}, names); diff != "" {
		t.Error(diff)
	}
	if err := os.Chmod(w.Path("plugins/catalogue.toml"), 0o666); err != nil {
		t.Fatal(err)
	}
	s = load(t, o, 0)
	_, err = find(t, s, "more")
	hosttest.WantUsage(t, err, `there is no plugin "more"`, "catalogue.toml")
}

// TestSearchIsLinear compares the allocations of searches in catalogues of which one is four times as large as the other. All names look alike.
func TestSearchIsLinear(t *testing.T) {
	w := admintest.New(t)
	keeper, signers := newKey(t), []signature.Key{newKey(t).Public(), newKey(t).Public()}
	name := func(i int) string {
		digits := fmt.Sprintf("a%012b", i)
		return strings.NewReplacer("0", "o", "1", "0").Replace(digits)
	}
	search := func(serial int64, n int) float64 {
		var entries []catalogue.Entry
		for i := range n {
			e := listed("x", "1.0.0", signers[i%2])
			e.Name, e.SHA256 = name(i), fmt.Sprintf("%064x", i)
			entries = append(entries, e)
		}
		publish(t, w, "list.toml", keeper, serial, entries...)
		w.Config(t, tableOf(w.Path("list.toml"), keeper.Public().String()))
		s := load(t, w.Options(), 0)
		return testing.AllocsPerRun(1, func() {
			if got := s.Search(""); len(got) != n || len(got[0].LooksLike) != 5 {
				t.Errorf("found %d of %d, %q", len(got), n, got[0].LooksLike)
			}
		})
	}
	if small, large := search(1, 500), search(2, 2000); large > 8*small {
		t.Errorf("%.0f allocations for 500 entries and %.0f for 2,000", small, large)
	}
}

func TestSearch(t *testing.T) {
	w := admintest.New(t)
	key := newKey(t)
	e := listed("calendar", "1.0.0", key.Public())
	e.Description = "Keeps NOTES of dates"
	publish(t, w, "list.toml", key, 1, listed("notes-old", "1.0.0", key.Public()), listed("notes", "1.0.0", key.Public()), listed("notes", "1.1.0", key.Public()), e, listed("chant", "1.0.0", key.Public()))
	w.Config(t, tableOf(w.Path("list.toml"), key.Public().String()))
	s := load(t, w.Options(), 0)
	for text, want := range map[string][]string{
		"notes": {"notes 1.1.0", "notes-old 1.0.0", "calendar 1.0.0"}, "Notes DATES": {"calendar 1.0.0"}, "otes": {"notes 1.1.0", "notes-old 1.0.0", "calendar 1.0.0"}, "nothing": nil,
	} {
		var got []string
		for _, m := range s.Search(text) {
			got = append(got, m.Name+" "+m.Version)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
