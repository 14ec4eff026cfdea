package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
)

func TestListsOfRevokedPluginsAreExamined(t *testing.T) {
	w := admintest.New(t)
	key := newKey(t)
	w.Config(t, fmt.Sprintf("[sources]\nrevocations = [{ from = \"list.toml\", key = %q }]\n[[plugins]]\npath = \"../plugins/first\"\n", key.Public()))
	w.Plugin(t, "first", "")
	publish := func(text string) {
		t.Helper()
		sig, err := key.Sign(strings.NewReader(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		w.Write(t, "work/list.toml", text)
		w.Write(t, "work/list.toml.minisig", string(sig))
	}
	list := "revocations = 1\nserial = 3\nexpires = \"2999-12-31\"\n"
	for _, c := range []struct{ list, outcome, detail string }{
		{"", doctor.CheckFailed, "there is no usable list, so no plugin is served: "},
		{"x = 1\n", doctor.CheckFailed, "x: is not a known key"},
		{list, doctor.CheckOK, "serial 3, entries: 0, valid until 2999-12-31"},
		{strings.Replace(list, "2999", "1999", 1), doctor.CheckWarning, "the list expired on 1999-12-31, and stays in force"},
	} {
		if c.list != "" {
			publish(c.list)
		}
		if got := admintest.Found(t, doctor.Examine(t.Context(), w.Options()), "revoked plugins", c.detail); got.Outcome != c.outcome || (got.Remedy == "") != (c.outcome == doctor.CheckOK) {
			t.Errorf("%q: got %+v", c.list, got)
		}
	}
	w.Config(t, fmt.Sprintf("[sources]\nrevocations = [{ from = \"https://lists.example/revoked.toml\", key = %q }]\n", newKey(t).Public()))
	const absent = "the list is not on this machine, so no plugin is served"
	if got := admintest.Found(t, doctor.Examine(t.Context(), w.Options()), "revoked plugins", absent); got.Outcome != doctor.CheckFailed || !strings.Contains(got.Remedy, "`bulkhead update --pinned`") {
		t.Errorf("got %+v", got)
	}
}

func newKey(t *testing.T) signature.Private {
	t.Helper()
	key, err := signature.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return key
}
