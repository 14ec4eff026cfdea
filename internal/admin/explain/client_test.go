package explain

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// TestClaimsNameTheGroupsOfAServer checks that a file of claims has the groups that a server reads in a token with these claims.
func TestClaimsNameTheGroupsOfAServer(t *testing.T) {
	for groups, want := range map[string][]string{
		`"ops"`:          {"ops"},
		`["ops", "dev"]`: {"ops", "dev"},
		`["ops", 1]`:     nil,
		`{"ops": true}`:  nil,
	} {
		file := filepath.Join(t.TempDir(), "claims.json")
		if err := os.WriteFile(file, []byte(`{"iss": "https://id.example", "sub": "ann", "groups": `+groups+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ParseClient(discovery.Options{}, file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Groups, want) {
			t.Errorf("groups = %s: got %q, want %q", groups, p.Groups, want)
		}
	}
}
