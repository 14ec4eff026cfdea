package catalogue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

// withRevoked returns the catalogue of a workspace whose config names a list with the revoked entries.
func withRevoked(t *testing.T, entries []catalogue.Entry, revoked ...catalogue.Entry) *catalogue.Sources {
	t.Helper()
	w := admintest.New(t)
	key := newKey(t)
	publish(t, w, "catalogue.toml", key, 1, slices.Clone(entries)...) // which sorts them
	list := "revocations = 1\nserial = 1\nexpires = \"2999-12-31\"\n"
	for _, e := range revoked {
		list += fmt.Sprintf("[[revoked]]\nsha256 = %q\nreason = \"it sends notes elsewhere\"\n", e.SHA256)
	}
	sig, err := key.Sign(strings.NewReader(list), "list")
	if err != nil {
		t.Fatal(err)
	}
	w.Write(t, "revoked.toml", list)
	w.Write(t, "revoked.toml.minisig", string(sig))
	w.Config(t, tableOf(w.Path("catalogue.toml"), key.Public().String())+fmt.Sprintf("revocations = [{ from = %q, key = %q }]\n", w.Path("revoked.toml"), key.Public()))
	return load(t, w.Options(), 0)
}

func TestFindSkipsRevokedVersions(t *testing.T) {
	key := newKey(t).Public()
	var all []catalogue.Entry
	for _, version := range []string{"0.1.0", "0.2.0", "1.0.0", "1.1.0"} {
		all = append(all, listed("notes", version, key))
	}
	s := withRevoked(t, all, all[3], all[1])
	wantFound(t, s, "notes", "notes 1.0.0 ^")
	wantFound(t, s, "notes@^1", "notes 1.0.0 ^")
	found, err := find(t, s, "notes")
	if err != nil || len(found.Skipped) != 1 || found.Skipped[0].Version != "1.1.0" {
		t.Errorf("skipped: %+v, %v", found, err)
	}
	if found, err := find(t, s, "notes@0.1.0"); err != nil || found.Skipped != nil {
		t.Errorf("a version that was asked for: %+v, %v", found, err)
	}
	for _, text := range []string{"notes@1.1.0", "notes@0.2.0", "notes@^1.1", "notes@0.2"} {
		_, err := find(t, s, text)
		hosttest.WantUsage(t, err, `is revoked with the reason "it sends notes elsewhere", by list 1 of sources.revocations[0] (`, "the newest version that is not revoked is added by `bulkhead add notes@1.0.0`")
	}
	s.Revoke(all[2].SHA256, "is revoked too")
	wantFound(t, s, "notes", "notes 0.1.0 ^")

	s = withRevoked(t, all, all...)
	_, err = find(t, s, "notes")
	hosttest.WantUsage(t, err, "notes 1.1.0 is revoked", "there is no version that is not revoked")
}

func TestSearchMarksRevokedVersions(t *testing.T) {
	key := newKey(t).Public()
	notes := []catalogue.Entry{listed("notes", "1.0.0", key), listed("notes", "1.1.0", key), listed("notes", "0.9.0", key)}
	other := listed("other", "2.0.0", key)
	s := withRevoked(t, append(slices.Clone(notes), other), notes[1], other)
	const why = "is revoked with the reason"
	var got []string
	for _, m := range s.Search("") {
		text := m.Name + " " + m.Version
		if strings.HasPrefix(m.Revoked, why) {
			text += " revoked"
		}
		for _, o := range m.Others {
			text += ", " + o.Version
			if strings.HasPrefix(o.Revoked, why) {
				text += " revoked"
			}
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"notes 1.0.0, 1.1.0 revoked, 0.9.0", "other 2.0.0 revoked"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
