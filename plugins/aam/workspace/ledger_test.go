package workspace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
)

var comparable = cmp.AllowUnexported(ledger{}, ledgerEntry{}, deployment{})

func TestParseLedgerRefuses(t *testing.T) {
	const entry = "packages: {pkg: [{platform: cursor, type: skill, name: s}]}"
	if _, err := parseLedger([]byte(entry)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no YAML":                            "packages: [",
		"a package name with ..":             strings.Replace(entry, "pkg", "../pkg", 1),
		"an artifact name with ..":           strings.Replace(entry, "name: s", "name: ../../s", 1),
		"an unknown type":                    strings.Replace(entry, "skill", "tool", 1),
		"an unknown platform":                strings.Replace(entry, "cursor", "vscode", 1),
		"a name that is missing":             strings.Replace(entry, ", name: s", "", 1),
		"an entry that is a string":          "packages: {pkg: [s]}",
		"a package that is a string":         "packages: {pkg: s}",
		"packages that are null":             "packages:",
		"a name that is a number":            strings.Replace(entry, "name: s", "name: 1", 1),
		"an artifact's name with upper case": strings.Replace(entry, "name: s", "name: S", 1),
	} {
		if _, err := parseLedger([]byte(text)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// FuzzLedger checks that a valid ledger has only paths that deployments may use, and that encoding and parsing the
// ledger returns an equal ledger.
func FuzzLedger(f *testing.F) {
	f.Add([]byte("packages: {pkg: [{platform: cursor, type: skill, name: s}], '@a/b': []}"))
	f.Add([]byte("packages: {pkg: [{platform: codex, type: agent, name: ../x}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseLedger(data)
		if err != nil {
			return
		}
		for _, entry := range l.packages {
			for _, d := range entry.deployed {
				if pkgname.Check(entry.name) != nil || pkgname.CheckArtifact(d.name) != nil || !deploy.Supported(d.platform) {
					t.Errorf("%q: %+v", data, entry)
				}
			}
		}
		written, err := l.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseLedger(written)
		if diff := cmp.Diff(l, again, comparable); err != nil || diff != "" {
			t.Errorf("%q: %v (-read +again)\n%s", data, err, diff)
		}
	})
}

func TestOversizedLockIsNotWritten(t *testing.T) {
	w := &Workspace{Project: "/project"}
	if err := w.fits(make([]byte, lockfile.MaxSize), make([]byte, maxLedger)); err != nil {
		t.Errorf("as large as can be read: %v", err)
	}
	for _, size := range [][2]int{{lockfile.MaxSize + 1, 0}, {0, maxLedger + 1}} {
		err := w.fits(make([]byte, size[0]), make([]byte, size[1]))
		if got := fault.From(err); got == nil || got.Code != fault.InvalidArgument {
			t.Errorf("%v bytes: got %v", size, err)
		}
	}
}
