//go:build unix

package discovery_test

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// Shells set HOSTNAME, but do not export it.
func TestUnsetHostnameIsTheNameOfTheHost(t *testing.T) {
	lookup := discovery.LookupEnv(discovery.System{})
	t.Setenv("HOSTNAME", "named")
	if got, ok := lookup("HOSTNAME"); got != "named" || !ok {
		t.Errorf("got %q, %t, want the variable's value", got, ok)
	}
	if err := os.Unsetenv("HOSTNAME"); err != nil {
		t.Fatal(err)
	}
	want, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := lookup("HOSTNAME"); got != want || ok != (want != "") {
		t.Errorf("got %q, %t, want %q", got, ok, want)
	}
}
