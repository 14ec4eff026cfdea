package discovery_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signedfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/revocation"
)

const valid, expired = "2999-12-31", "2001-12-31"

// listOf returns a list of revoked digests.
func listOf(serial int, expires string, digests ...string) string {
	text := fmt.Sprintf("revocations = 1\nserial = %d\nexpires = %q\n", serial, expires)
	for _, digest := range digests {
		text += fmt.Sprintf("[[revoked]]\nsha256 = %q\nreason = \"it sends\\u001b[31m notes\\nelsewhere\"\n", digest)
	}
	return text
}

// publish writes a signed list to list.toml of the world.
func publish(t *testing.T, w *hosttest.World, key signature.Private, list string) {
	t.Helper()
	w.Write(t, hosttest.Files{"list.toml": list, "list.toml.minisig": sign(t, key, []byte(list), "x")})
}

// keep keeps a list, as update does that has fetched it.
func keep(t *testing.T, o discovery.Options, key signature.Private, list string) error {
	t.Helper()
	dir, err := discovery.Revocations(o.System)
	if err != nil {
		t.Fatal(err)
	}
	f := &signedfile.File{Content: []byte(list), Signature: []byte(sign(t, key, []byte(list), "x"))}
	return dir.Put(t.Context(), key.Public().String(), key.Public(), f, revocation.Serial)
}

func listed(from string, key signature.Private) string {
	return fmt.Sprintf("[sources]\nrevocations = [{ from = %q, key = %q }]\n", from, key.Public())
}

func problemOf(t *testing.T, o discovery.Options) string {
	t.Helper()
	view, err := catalog.Look(o)
	if err != nil {
		t.Fatal(err)
	}
	return view.Plugins[0].Problem
}

func TestRevokedPluginIsNotServed(t *testing.T) {
	key := newKey(t)
	manifest := digestOf(t)
	for name, c := range map[string]struct {
		set func(t *testing.T, w *hosttest.World) discovery.Options
		// digest returns what is revoked.
		digest func(t *testing.T, o discovery.Options) string
		want   string
	}{
		"of the store, by its manifest": {func(t *testing.T, w *hosttest.World) discovery.Options {
			o, _ := stored(t, w, listed(w.Dir+"/list.toml", key))
			return o
		}, func(*testing.T, discovery.Options) string { return manifest }, "bulkhead.toml:1: plugins[0]: it 1.0.0 is revoked with the reason "},
		"of the store, by its module": {func(t *testing.T, w *hosttest.World) discovery.Options {
			o, _ := stored(t, w, listed("../list.toml", key))
			return o
		}, func(t *testing.T, o discovery.Options) string {
			view, err := catalog.Look(o)
			if err != nil {
				t.Fatal(err)
			}
			return view.Plugins[0].Manifest.Module.SHA256
		}, "sources.revocations[0] ("},
		"of a directory, by the ceiling": {func(t *testing.T, w *hosttest.World) discovery.Options {
			w.Write(t, greedy())
			put(t, w, "own.toml", everything)
			put(t, w, hosttest.Ceiling, listed(w.Dir+"/list.toml", key))
			o := discovering(w)
			o.ConfigFile = w.Dir + "/own.toml"
			return o
		}, func(t *testing.T, o discovery.Options) string {
			view, err := catalog.Look(o)
			if err != nil {
				t.Fatal(err)
			}
			return view.Plugins[0].Manifest.Digest
		}, "own.toml:1: plugins[0]: greedy 0.1.0 is revoked with the reason "},
		"without a config": {func(t *testing.T, w *hosttest.World) discovery.Options {
			w.Write(t, greedy())
			put(t, w, hosttest.Ceiling, listed(w.Dir+"/list.toml", key))
			o := discovering(w)
			o.NoConfig, o.PluginsDir = true, w.Dir+"/plugins"
			return o
		}, func(t *testing.T, o discovery.Options) string {
			view, err := catalog.Look(o)
			if err != nil {
				t.Fatal(err)
			}
			return view.Plugins[0].Manifest.Digest
		}, "plugins/greedy/plugin.toml: greedy 0.1.0 is revoked with the reason "},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			o := c.set(t, w)
			publish(t, w, key, listOf(1, valid))
			if problem := problemOf(t, o); problem != "" {
				t.Errorf("with an empty list: %s", problem)
			}
			publish(t, w, key, listOf(2, valid, strings.Repeat("a", 64), c.digest(t, o)))
			problem := problemOf(t, o)
			for _, want := range []string{c.want, `"it sends·[31m notes elsewhere", by list 2 of sources.revocations[0] (`, "remedy: ", "bulkhead remove"} {
				if !strings.Contains(problem, want) {
					t.Errorf("got %q, want %q", problem, want)
				}
			}
		})
	}
}

// TestListInForce has what is kept, what is at the path, and what follows.
func TestListInForce(t *testing.T) {
	key, other := newKey(t), newKey(t)
	digest := digestOf(t)
	type files struct {
		kept, local string
		signer      signature.Private
	}
	for name, c := range map[string]struct {
		files
		serial  int64 // of the list in force; 0: none
		problem string
		refused string
	}{
		"a local list":                   {files{"", listOf(1, valid), key}, 1, "", ""},
		"a newer local list":             {files{listOf(1, valid, digest), listOf(2, valid), key}, 2, "", ""},
		"an older local list":            {files{listOf(3, valid, digest), listOf(2, valid), key}, 3, "serial number 2, and number 3 was fetched before", "is revoked"},
		"the same":                       {files{listOf(3, valid, digest), listOf(3, valid, digest), key}, 3, "", "is revoked"},
		"another of the same number":     {files{listOf(3, valid, digest), listOf(3, valid), key}, 3, "the serial number 3 and other content", "is revoked"},
		"a list of another key":          {files{listOf(3, valid, digest), listOf(4, valid), other}, 3, "none of the accepted keys made the signature", "is revoked"},
		"a first list of another key":    {files{"", listOf(4, valid), other}, 0, "none of the accepted keys made the signature", "it is not known what is revoked"},
		"no local list":                  {files{listOf(3, valid, digest), "", key}, 3, "no such file", "is revoked"},
		"no list":                        {files{"", "", key}, 0, "no such file", "it is not known what is revoked: there is no usable list for sources.revocations[0]"},
		"an invalid list":                {files{listOf(3, valid, digest), "revocations = 2\n", key}, 3, "revocations: is not 1", "is revoked"},
		"a catalogue of the same key":    {files{"", "catalogue = 1\nserial = 1\n", key}, 0, "catalogue: is not a known key", "it is not known what is revoked"},
		"an expired list":                {files{"", listOf(4, expired, digest), key}, 4, "", "is revoked"},
		"a local list that is too large": {files{"", strings.Repeat("#", 1<<20+1), key}, 0, "too large", "it is not known what is revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			o, _ := stored(t, w, listed(w.Dir+"/list.toml", key))
			var log bytes.Buffer
			o.Log = hclog.New(&hclog.LoggerOptions{Output: &log})
			if c.kept != "" {
				if err := keep(t, o, key, c.kept); err != nil {
					t.Fatal(err)
				}
			}
			if c.local != "" {
				publish(t, w, c.signer, c.local)
			}
			view, err := catalog.Look(o)
			if err != nil {
				t.Fatal(err)
			}
			l := view.Revocations[0]
			if l.List == nil != (c.serial == 0) || l.List != nil && l.List.Serial != c.serial {
				t.Errorf("in force is %+v, want serial %d", l.List, c.serial)
			}
			if got := strings.Join(l.Problems, "\n"); (got == "") != (c.problem == "") || !strings.Contains(got, c.problem) {
				t.Errorf("got the problem %q, want %q", got, c.problem)
			}
			if problem := view.Plugins[0].Problem; (problem == "") != (c.refused == "") || !strings.Contains(problem, c.refused) {
				t.Errorf("got %q, want %q", problem, c.refused)
			}
			if c.problem != "" && (!strings.Contains(log.String(), "a list of revoked plugins is not used") || !strings.Contains(log.String(), "put the newest list at ")) {
				t.Errorf("logged: %s", &log)
			}
			if name == "an expired list" && !strings.Contains(log.String(), "a list of revoked plugins has expired, and stays in force: list=\"sources.revocations[0] (") {
				t.Errorf("logged: %s", &log)
			}
		})
	}
}

// TestFetchedListDecides has a list that is fetched from the network, which a host never does.
func TestFetchedListDecides(t *testing.T) {
	key := newKey(t)
	w := hosttest.New(t)
	o, _ := stored(t, w, listed("https://lists.example/revoked.toml", key))
	if problem := problemOf(t, o); !strings.Contains(problem, "there is no usable list for sources.revocations[0] (") || !strings.Contains(problem, "`bulkhead update --pinned`") {
		t.Errorf("before the first: %q", problem)
	}
	if err := keep(t, o, key, listOf(1, valid)); err != nil {
		t.Fatal(err)
	}
	if problem := problemOf(t, o); problem != "" {
		t.Error(problem)
	}
	if err := keep(t, o, key, listOf(2, valid, digestOf(t))); err != nil {
		t.Fatal(err)
	}
	if problem := problemOf(t, o); !strings.Contains(problem, "it 1.0.0 is revoked") {
		t.Error(problem)
	}
	dir, err := discovery.Revocations(o.System)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"a changed list": func() error {
			names, err := filepath.Glob(dir.Path + "/*.signed")
			if err != nil || len(names) != 1 {
				return fmt.Errorf("%q, %w", names, err)
			}
			data, err := os.ReadFile(names[0])
			return errors.Join(err, os.WriteFile(names[0], bytes.Replace(data, []byte(valid), []byte("2998-12-31"), 1), 0o600))
		},
		"a directory that others can write": func() error { return os.Chmod(dir.Path, 0o777) },
		"no directory":                      func() error { return os.RemoveAll(dir.Path) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if problem := problemOf(t, o); !strings.Contains(problem, "there is no usable list") {
			t.Errorf("%s: got %q", name, problem)
		}
		if err := errors.Join(os.RemoveAll(dir.Path), keep(t, o, key, listOf(2, valid))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNewerListsAreKept(t *testing.T) {
	key := newKey(t)
	w := hosttest.New(t)
	o, _ := stored(t, w, listed(w.Dir+"/list.toml", key))
	look := func() *discovery.Found {
		t.Helper()
		found, err := discovery.Find(o)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	publish(t, w, key, listOf(2, valid, digestOf(t)))
	first := look()
	if dir, err := discovery.Revocations(o.System); err != nil {
		t.Fatal(err)
	} else if _, err := os.Stat(dir.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Find has created %s", dir.Path)
	}
	if err := first.KeepRevocations(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish(t, w, key, listOf(1, valid))
	if l := look().Revocations[0]; l.List.Serial != 2 || len(l.Problems) != 1 {
		t.Errorf("an older list: got %+v", l)
	}
	publish(t, w, key, listOf(4, valid))
	slow := look()
	publish(t, w, key, listOf(5, valid))
	for _, found := range []*discovery.Found{look(), slow, look()} {
		if err := found.KeepRevocations(t.Context()); err != nil {
			t.Error(err)
		}
	}
	removeFile(t, w, "list.toml")
	if l := look().Revocations[0]; l.List == nil || l.List.Serial != 5 {
		t.Errorf("without the file: got %+v", l)
	}
}

func removeFile(t *testing.T, w *hosttest.World, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(w.Dir, name)); err != nil {
		t.Fatal(err)
	}
}

func TestListsAreWatchedAndHidden(t *testing.T) {
	key := newKey(t)
	w := hosttest.New(t)
	o, _ := stored(t, w, listed(w.Dir+"/list.toml", key))
	found, err := discovery.Find(o)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := discovery.Revocations(o.System)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{w.Dir + "/list.toml", w.Dir + "/list.toml.minisig"} {
		if !slices.Contains(found.Watched(), path) || !slices.Contains(found.HostFiles, path) {
			t.Errorf("%s is not among %q and %q", path, found.Watched(), found.HostFiles)
		}
	}
	if !slices.Contains(found.Watched(), dir.Path) || !slices.Contains(found.HostFiles, filepath.Dir(dir.Path)) {
		t.Errorf("%s is not among %q and %q", dir.Path, found.Watched(), found.HostFiles)
	}
}
