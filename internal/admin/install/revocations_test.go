package install_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
)

// published is a list of revoked plugins on a web server.
type published struct {
	key          signature.Private
	content, sig string
	server       *httptest.Server
	from         string
	status       int
}

// publishList starts the server, and writes a config that names the list.
func publishList(t *testing.T, w *admintest.Workspace) *published {
	t.Helper()
	p := &published{key: newKey(t)}
	p.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case p.status != 0:
			rw.WriteHeader(p.status)
		case strings.HasSuffix(r.URL.Path, ".minisig"):
			fmt.Fprint(rw, p.sig)
		default:
			fmt.Fprint(rw, p.content)
		}
	}))
	t.Cleanup(p.server.Close)
	p.from = p.server.URL + "/revoked.toml"
	w.Config(t, fmt.Sprintf("[sources]\nrevocations = [{ from = %q, key = %q }]\n", p.from, p.key.Public()))
	return p
}

// set publishes a version of the list.
func (p *published) set(t *testing.T, serial int, digests ...string) {
	t.Helper()
	p.content = fmt.Sprintf("revocations = 1\nserial = %d\nexpires = \"2999-12-31\"\n", serial)
	for _, digest := range digests {
		p.content += fmt.Sprintf("[[revoked]]\nsha256 = %q\nreason = \"it sends notes elsewhere\"\n", digest)
	}
	text, err := p.key.Sign(strings.NewReader(p.content), "x")
	if err != nil {
		t.Fatal(err)
	}
	p.sig = string(text)
}

// fetchList fetches the only list.
func fetchList(t *testing.T, w *admintest.Workspace) install.RevocationList {
	t.Helper()
	lists, err := install.FetchRevocations(t.Context(), w.Options(), fetcher)
	if err != nil || len(lists) != 1 {
		t.Fatalf("%+v, %v", lists, err)
	}
	return lists[0]
}

func TestListsAreFetched(t *testing.T) {
	w := admintest.New(t)
	p := publishList(t, w)
	p.status = http.StatusNotFound
	if l := fetchList(t, w); l.State != install.Failed || l.Serial != 0 || !strings.Contains(l.Problem, "404") {
		t.Errorf("without a list: %+v", l)
	}
	p.status = 0
	p.set(t, 2, strings.Repeat("a", 64))
	for _, state := range []string{install.Fetched, install.Present} {
		if l := fetchList(t, w); l.State != state || l.Serial != 2 || l.Revoked != 1 || l.Expires != "2999-12-31" || l.Expired || l.Problem != "" || !strings.HasPrefix(l.At, "sources.revocations[0] (") {
			t.Errorf("got %+v, want %s", l, state)
		}
	}
	good := *p
	for name, c := range map[string]struct {
		change func()
		want   string
	}{
		"an older list":              {func() { p.set(t, 1) }, "it has the serial number 1, and number 2 was fetched before"},
		"another of the same number": {func() { p.set(t, 2) }, "the serial number 2 and other content"},
		"the signature of another":   {func() { sig := p.sig; p.set(t, 3); p.sig = sig }, "the signature does not fit"},
		"another key":                {func() { p.key = newKey(t); p.set(t, 3) }, "another key"},
		"no signature":               {func() { p.sig = "" }, "its signature cannot be used"},
		"a huge list":                {func() { p.content = strings.Repeat("#", 1<<20+1) }, "more than"},
		"an unavailable server":      {func() { p.status = http.StatusServiceUnavailable }, "503"},
		"an invalid list":            {func() { p.set(t, 3, "x") }, "is not a SHA-256"},
	} {
		p.key, p.content, p.sig, p.status = good.key, good.content, good.sig, 0
		c.change()
		if l := fetchList(t, w); l.State != install.Failed || l.Serial != 2 || !strings.Contains(l.Problem, c.want) {
			t.Errorf("%s: got %+v, want %s", name, l, c.want)
		}
	}
}

// TestCeilingNamesListWithoutConfig fetches for a machine that has no config yet.
func TestCeilingNamesListWithoutConfig(t *testing.T) {
	w := admintest.New(t)
	p := publishList(t, w)
	w.Write(t, "etc/bulkhead.toml", w.Read(t, "work/bulkhead.toml"))
	removeAll(t, w, "work/bulkhead.toml")
	p.set(t, 1)
	w.Plugin(t, "first", "")
	_, err := install.Propose(w.Options(), install.Addition{Dir: w.Path("plugins/first")})
	hosttest.WantUsage(t, err, "it is not known what is revoked", "`bulkhead update --pinned`")
	if l := fetchList(t, w); l.State != install.Fetched || l.Serial != 1 {
		t.Errorf("got %+v", l)
	}
	if _, err := install.Propose(w.Options(), install.Addition{Dir: w.Path("plugins/first")}); err != nil {
		t.Error(err)
	}
}

// TestEveryCommandSaysWhatIsRevoked revokes the version that the config pins.
func TestEveryCommandSaysWhatIsRevoked(t *testing.T) {
	w := admintest.New(t)
	list := publishList(t, w)
	list.set(t, 1)
	fetchList(t, w)
	w.Plugin(t, "first", "")
	first := w.Archive(t, "first", "1.0.0")
	p := addFetched(t, w, first, install.Addition{})
	list.set(t, 2, p.Plugin.Digest)
	fetchList(t, w)
	const why = `first 1.0.0 is revoked with the reason "it sends notes elsewhere", by list 2 of sources.revocations[0] (`

	if got := served(t, w); len(got) != 1 || !strings.Contains(got[0], why) {
		t.Errorf("served: %q", got)
	}
	if got := fetchPinned(t, w); len(got) != 1 || got[0].State != install.Refused || !strings.Contains(got[0].Problem, why) {
		t.Errorf("update --pinned: %+v", got)
	}
	if u := updateOf(t, w); !strings.Contains(u.Refused, why) || !strings.Contains(u.Refused, "it has no other version that is not revoked: remove it with `bulkhead remove first`") {
		t.Errorf("update --check: %+v", u)
	}
	c, err := install.ListStore(w.Options())
	if err != nil || len(c.Plugins) != 1 || !c.Plugins[0].Pinned || !strings.Contains(why, c.Plugins[0].Revoked[:20]) {
		t.Errorf("cache: %+v, %v", c, err)
	}
	policies, err := explain.Grants(w.Options(), explain.Question{})
	if err != nil || !strings.Contains(policies.Plugins[0].Problem, why) {
		t.Errorf("policy: %+v, %v", policies, err)
	}
	trusted, err := install.ProposeTrust(w.Discovering(), w.Path("work/bulkhead.toml"))
	if err != nil || !strings.Contains(trusted.Plugins[0].Problem, why) {
		t.Errorf("trust: %+v, %v", trusted, err)
	}
	o := w.Options()
	o.ConfigFile = w.Path("new.toml")
	w.Write(t, "new.toml", strings.SplitAfter(w.Read(t, "work/bulkhead.toml"), "]\n")[0]+strings.SplitAfter(w.Read(t, "work/bulkhead.toml"), "]\n")[1])
	_, err = install.Propose(o, install.Addition{Staged: stage(t, first)})
	hosttest.WantUsage(t, err, why)

	// A version that is not revoked is compared with the revoked one.
	w.Version(t, "first", "1.1.0", "")
	w.Archive(t, "first", "1.1.0")
	if u := updateOf(t, w); u.State != install.Outdated || u.Newest != "1.1.0" {
		t.Errorf("got %+v", u)
	}
	next, err := updateTo(t, w, "1.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if next.Revision.Grows() {
		t.Errorf("the update asks for consent: %+v", next.Revision)
	}
	hosttest.WantEqual(t, served(t, w), []string{"first 1.1.0"})
	_, err = updateTo(t, w, "1.0.0")
	hosttest.WantUsage(t, err, why)
}
