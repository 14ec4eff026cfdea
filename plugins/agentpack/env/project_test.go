package env_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
)

func TestProjectID(t *testing.T) {
	tests := []struct{ origin, normalized, id string }{
		{"https://github.com/example/example.git", "github.com/example/example", "ae2752b5775071e2"},
		{"git@github.com:Example/Example.git", "github.com/example/example", "ae2752b5775071e2"},
		{"ssh://git@github.com/example/example.git", "ssh://git@github.com/example/example", "fb3462c7faed8ab1"},
		{"https://user@github.com/example/example", "user@github.com/example/example", "c61df226e082bbd9"},
		{"https://github.com/example/example/", "github.com/example/example/", "29dc248b8d079169"},
		{"https://github.com/acme/widgets.git", "github.com/acme/widgets", "f60ecdb16e5e8e82"},
		{"", "", "926574b4279e7131"},
	}
	for _, test := range tests {
		if got := env.NormalizeOrigin(test.origin); got != test.normalized {
			t.Errorf("%s: got %s, want %s", test.origin, got, test.normalized)
		}
		if got := env.ProjectID(test.origin, "/srv/demo"); got != test.id {
			t.Errorf("%s: got %s, want %s", test.origin, got, test.id)
		}
	}
}

// repository is a Git whose methods return fixed results.
type repository struct {
	top, origin, id   string
	topErr, originErr error
}

func (r repository) TopLevel(string) (string, error) { return r.top, r.topErr }
func (r repository) Origin(string) (string, string, error) {
	return r.origin, r.id, r.originErr
}

func TestDetectProject(t *testing.T) {
	denied := errors.New("not granted")
	tests := []struct {
		name     string
		git      repository
		want     env.Project
		warnings int
	}{
		{"no repository", repository{}, env.Project{Root: "/srv/demo", ID: "926574b4279e7131"}, 0},
		{"a repository without origin", repository{top: "/srv/demo"}, env.Project{Root: "/srv/demo", ID: "926574b4279e7131"}, 0},
		{
			"a repository with an origin", repository{top: "/srv", origin: " https://github.com/acme/widgets.git\n"},
			env.Project{Root: "/srv", Origin: "https://github.com/acme/widgets.git", ID: "f60ecdb16e5e8e82"}, 0,
		},
		{
			"an origin with credentials", repository{top: "/srv", origin: "https://github.com/acme/widgets.git", id: "0123456789abcdef"},
			env.Project{Root: "/srv", Origin: "https://github.com/acme/widgets.git", ID: "0123456789abcdef"}, 0,
		},
		{"a repository that was not granted", repository{topErr: denied}, env.Project{Root: "/srv/demo", ID: "926574b4279e7131"}, 1},
		{"an origin that cannot be read", repository{top: "/srv/demo", originErr: denied}, env.Project{Root: "/srv/demo", ID: "926574b4279e7131"}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, warnings := env.DetectProject(env.Env{Cwd: "/srv/demo"}, test.git)
			if diff := cmp.Diff(test.want, got); diff != "" || len(warnings) != test.warnings {
				t.Errorf("%q (-want +got)\n%s", warnings, diff)
			}
			if test.warnings > 0 && !strings.Contains(warnings[0], "not granted") {
				t.Errorf("the warning does not say why: %s", warnings[0])
			}
		})
	}
}

func TestMachineID(t *testing.T) {
	vars := map[string]string{}
	at := env.Env{Var: func(name string) string { return vars[name] }}
	check := func(named, want string) {
		t.Helper()
		if got := env.MachineID(at, named); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	check("", "unknown")
	vars["COMPUTERNAME"] = "PC"
	check("", "pc")
	vars["HOSTNAME"] = "..."
	check("", "pc")
	vars["HOSTNAME"] = "host"
	check("", "host")
	vars["AGENTPACK_MACHINE_ID"] = "Mine"
	check("", "mine")
	check("Other One", "other-one")
	check("!!", "mine")
}
