package discovery

import (
	"os"
	"testing"
)

// Windows does not set HOME, which plugins request.
func TestHomeIsProfileDirectoryByDefault(t *testing.T) {
	t.Setenv("HOME", "")
	os.Unsetenv("HOME")
	t.Setenv("USERPROFILE", `C:\Users\me`)
	if home, ok := LookupEnv(System{})("HOME"); home != `C:\Users\me` || !ok {
		t.Errorf("got %q, %v", home, ok)
	}
}
