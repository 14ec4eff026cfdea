package install_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

func newKey(t *testing.T) signature.Private {
	t.Helper()
	key, err := signature.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signArchive writes the signature of the archive of a reference beside it, with a comment that names no plugin.
func signArchive(t *testing.T, reference string, key signature.Private) {
	t.Helper()
	signWith(t, reference, key, func([]byte) string { return "comment" })
}

// signPlugin is like signArchive, with the comment of `plugin push`.
func signPlugin(t *testing.T, reference string, key signature.Private) {
	t.Helper()
	signWith(t, reference, key, func(data []byte) string {
		p, err := store.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		return store.SignedComment(p.Manifest)
	})
}

func signWith(t *testing.T, reference string, key signature.Private, comment func(data []byte) string) {
	t.Helper()
	file := strings.TrimPrefix(reference, "file:")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.Sign(bytes.NewReader(data), comment(data))
	if err == nil {
		err = os.WriteFile(file+".minisig", text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stageSigned is like install.Stage, and closes what is staged.
func stageSigned(t *testing.T, reference string, signer signature.Key) (*install.Staged, error) {
	t.Helper()
	r, err := source.Parse(reference, "/")
	if err != nil {
		t.Fatal(err)
	}
	s, err := install.Stage(t.Context(), &source.Fetcher{}, r, signer)
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

func TestStageVerifiesSignature(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	author, other := newKey(t), newKey(t)
	reference := w.Archive(t, "first", "1.0.0")
	file := strings.TrimPrefix(reference, "file:")
	_, err := stageSigned(t, reference, author.Public())
	hosttest.WantUsage(t, err, "it is not signed, and must be signed with the key "+author.Public().String())

	signArchive(t, reference, author)
	good, err := os.ReadFile(file + ".minisig")
	if err != nil {
		t.Fatal(err)
	}
	anonymous := "untrusted comment: x\n" + strings.SplitN(string(good), "\n", 2)[1]
	for name, c := range map[string]struct {
		signature string
		signer    signature.Key
		want      string
	}{
		"signed":                             {string(good), signature.Key{}, ""},
		"signed by the author":               {string(good), author.Public(), ""},
		"signed by another":                  {string(good), other.Public(), "it is signed with another key, which calls itself " + author.Public().String() + ", and must be signed with " + other.Public().String()},
		"an unnamed key":                     {anonymous, signature.Key{}, "pass --signer KEY"},
		"an unnamed key that is known":       {anonymous, author.Public(), ""},
		"an unnamed key of another":          {anonymous, other.Public(), "it is signed with another key, with the identifier " + author.Public().ID()},
		"the name of another key":            {strings.Replace(string(good), author.Public().String(), other.Public().String(), 1), signature.Key{}, "it is signed with another key"},
		"the same for a key that is known":   {strings.Replace(string(good), author.Public().String(), other.Public().String(), 1), author.Public(), ""},
		"a changed signed comment":           {strings.Replace(string(good), ": comment", ": changed", 1), signature.Key{}, "the signature does not fit the file"},
		"no signature":                       {"text", signature.Key{}, "its signature cannot be used"},
		"an empty signature is no signature": {"", signature.Key{}, "its signature cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file+".minisig", []byte(c.signature), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := stageSigned(t, reference, c.signer)
			if c.want != "" {
				hosttest.WantUsage(t, err, c.want, reference)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	w.Version(t, "first", "1.0.1", "")
	if err := os.WriteFile(file+".minisig", good, 0o600); err != nil {
		t.Fatal(err)
	}
	w.Archive(t, "first", "1.0.0") // other bytes beside the same signature
	_, err = stageSigned(t, reference, signature.Key{})
	hosttest.WantUsage(t, err, "the signature does not fit the file")
}

func TestSignerIsPinned(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	author, other := newKey(t), newKey(t)
	reference := w.Archive(t, "first", "1.0.0")
	signArchive(t, reference, author)
	p := addFetched(t, w, reference, install.Addition{})
	if p.Source.Signer != author.Public().String() || p.Source.SignerKnown {
		t.Errorf("got %+v", p.Source)
	}
	pinned := "sha256 = \"" + p.Plugin.Digest + "\"\nsigner = \"" + author.Public().String() + "\"\n"
	if config := w.Read(t, "work/bulkhead.toml"); !strings.Contains(config, pinned) {
		t.Errorf("the config is %s", config)
	}
	if items, err := pluginStore(t, w).List(); err != nil || len(items) != 1 || items[0].Origin.Signer != author.Public().String() || !strings.Contains(items[0].Origin.Signature, author.Public().String()) {
		t.Errorf("the store has %+v, %v", items, err)
	}

	w.Version(t, "first", "1.1.0", "")
	next := w.Archive(t, "first", "1.1.0")
	propose := func(signer signature.Key) (*install.Proposal, error) {
		t.Helper()
		s, err := stageSigned(t, next, signer)
		if err != nil {
			t.Fatal(err)
		}
		return install.Propose(w.Options(), install.Addition{Repin: true, Staged: s})
	}
	_, err := propose(signature.Key{})
	hosttest.WantUsage(t, err, "it is not signed, and signer (", "bulkhead.toml:", "names "+author.Public().String())
	signArchive(t, next, other)
	_, err = propose(signature.Key{})
	hosttest.WantUsage(t, err, "it is signed with the key "+other.Public().String(), "names "+author.Public().String(), "pass it with --signer")
	if changed, err := propose(other.Public()); err != nil || !changed.Source.SignerKnown || changed.Source.Signer != other.Public().String() {
		t.Errorf("the key that the user names: got %v, %v", changed, err)
	}
	signArchive(t, next, author)
	again, err := propose(signature.Key{})
	if err != nil || !again.Source.SignerKnown {
		t.Fatalf("got %v, %v", again, err)
	}
	if err := again.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if config := w.Read(t, "work/bulkhead.toml"); !strings.Contains(config, "sha256 = \""+again.Plugin.Digest+"\"\nsigner = \""+author.Public().String()+"\"\n") {
		t.Errorf("the config is %s", config)
	}
}

// TestPinnedPluginsAreFetchedFromTheirSignerOnly fetches for another machine, whose config is the same.
func TestPinnedPluginsAreFetchedFromTheirSignerOnly(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	author := newKey(t)
	reference := w.Archive(t, "first", "1.0.0")
	signArchive(t, reference, author)
	addFetched(t, w, reference, install.Addition{})
	fetch := func() install.Stored {
		t.Helper()
		removeAll(t, w, "home/.local")
		all, err := install.FetchPinned(t.Context(), w.Options(), func(string) *source.Fetcher { return &source.Fetcher{} })
		if err != nil || len(all) != 1 {
			t.Fatalf("got %+v, %v", all, err)
		}
		return all[0]
	}
	if got := fetch(); got.State != install.Fetched || got.Problem != "" {
		t.Errorf("got %+v", got)
	}
	signArchive(t, reference, newKey(t))
	if got := fetch(); got.State != install.Failed || !strings.Contains(got.Problem, "must be signed with "+author.Public().String()) {
		t.Errorf("got %+v", got)
	}
	removeAll(t, w, strings.TrimPrefix(strings.TrimPrefix(reference, "file:")+".minisig", w.Dir+"/"))
	if got := fetch(); got.State != install.Failed || !strings.Contains(got.Problem, "it is not signed") {
		t.Errorf("got %+v", got)
	}
	if items, err := pluginStore(t, w).List(); err != nil || len(items) != 0 {
		t.Errorf("the store has %+v, %v", items, err)
	}
}

// TestRequiredSignatureIsCheckedByEveryCommand adds, updates and fetches under a ceiling that requires a signature.
func TestRequiredSignatureIsCheckedByEveryCommand(t *testing.T) {
	w := admintest.New(t)
	author := newKey(t)
	ceiling := "[ceiling]\nrequire_signature = [\"" + author.Public().String() + "\"]\n"
	w.Write(t, "etc/bulkhead.toml", ceiling)
	w.Plugin(t, "first", "")
	first := w.Archive(t, "first", "1.0.0")
	_, err := install.Propose(w.Options(), install.Addition{Staged: stage(t, first)})
	hosttest.WantUsage(t, err, "first is not allowed: it is not signed, and ceiling.require_signature (")
	_, err = install.Propose(w.Options(), install.Addition{Dir: w.Path("plugins/first")})
	hosttest.WantUsage(t, err, "first is not allowed: it is a directory, which is not signed")
	for _, key := range []signature.Private{newKey(t), author} {
		signArchive(t, first, key)
		if _, err := install.Propose(w.Options(), install.Addition{Staged: stage(t, first)}); err == nil {
			t.Error("a signature that does not name the plugin is accepted")
		}
	}
	signPlugin(t, first, author)
	addFetched(t, w, first, install.Addition{})
	hosttest.WantEqual(t, served(t, w), []string{"first 1.0.0"})

	w.Version(t, "first", "1.1.0", "")
	next := w.Archive(t, "first", "1.1.0")
	w.Config(t, strings.Replace(w.Read(t, "work/bulkhead.toml"), "signer = ", "#", 1))
	if _, err := updateTo(t, w, "1.1.0"); err == nil || !strings.Contains(err.Error(), "first is not allowed: it is not signed") {
		t.Errorf("an update without signature: %v", err)
	}
	signPlugin(t, next, author)
	if _, err := updateTo(t, w, "1.1.0"); err != nil {
		t.Error(err)
	}
	hosttest.WantEqual(t, served(t, w), []string{"first 1.1.0"})

	// Of the store the signature decides, and not what else its record claims.
	w.Write(t, "etc/bulkhead.toml", strings.Replace(ceiling, author.Public().String(), newKey(t).Public().String(), 1))
	if got := fetchPinned(t, w); len(got) != 1 || got[0].State != install.Refused || !strings.Contains(got[0].Problem, "it is signed with the key "+author.Public().String()) {
		t.Errorf("got %+v", got)
	}
}

// TestPinnedPluginGetsItsSignature has a plugin in the store that was fetched before its author signed it.
func TestPinnedPluginGetsItsSignature(t *testing.T) {
	w := admintest.New(t)
	author := newKey(t)
	w.Plugin(t, "first", "")
	reference := w.Archive(t, "first", "1.0.0")
	addFetched(t, w, reference, install.Addition{})
	w.Write(t, "etc/bulkhead.toml", "[ceiling]\nrequire_signature = [\""+author.Public().String()+"\"]\n")
	if got := served(t, w); len(got) != 1 || !strings.Contains(got[0], "it is not signed") || !strings.Contains(got[0], "`bulkhead update --pinned`") {
		t.Errorf("got %q", got)
	}
	for _, want := range []string{install.Refused, install.Fetched, install.Present} {
		got := fetchPinned(t, w)
		if len(got) != 1 || got[0].State != want || (got[0].Problem != "") != (want == install.Refused) {
			t.Errorf("got %+v, want %s", got, want)
		}
		signPlugin(t, reference, author)
	}
	hosttest.WantEqual(t, served(t, w), []string{"first 1.0.0"})
	removeAll(t, w, "archives")
	w.Write(t, "etc/bulkhead.toml", "[ceiling]\nrequire_signature = []\n")
	if got := fetchPinned(t, w); len(got) != 1 || got[0].State != install.Refused || !strings.Contains(got[0].Problem, "no such file") {
		t.Errorf("without the archive: got %+v", got)
	}
}
