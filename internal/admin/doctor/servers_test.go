package doctor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
)

// serverWith returns the address of a server that answers health checks.
func serverWith(t *testing.T, path, policy string, status int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		if policy != "" {
			w.Header().Set(httpserver.PolicyHeader, policy)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestCompareServers(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	one, two := serverWith(t, "/readyz", a, 200), serverWith(t, "/readyz", a, 200)
	behind := serverWith(t, "/bulkhead/readyz", a, 200) + "/bulkhead/readyz"
	other := serverWith(t, "/readyz", b, 200)
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, c := range map[string]struct {
		addresses []string
		outcomes  string // the first letters, that of the comparison last
		detail    string // of the comparison
	}{
		"equal":        {[]string{one, two + "/mcp", behind}, "ooo o", "all have the same policy (3)"},
		"different":    {[]string{one, other, two}, "ooo f", "3 servers have 2 policies: aaaaaaaaaaaa at " + one + ", " + two + "; bbbbbbbbbbbb at " + other},
		"shuts down":   {[]string{one, serverWith(t, "/readyz", a, 503)}, "ow o", "all have the same policy (2)"},
		"no policy":    {[]string{one, serverWith(t, "/readyz", "", 200)}, "of f", "1 of 2"},
		"no digest":    {[]string{one, serverWith(t, "/readyz", "<script>", 200)}, "of f", "1 of 2"},
		"no server":    {[]string{one, closed.URL}, "of f", "1 of 2"},
		"a redirect":   {[]string{one, serverWith(t, "/readyz", a, 302)}, "of f", "1 of 2"},
		"only one":     {[]string{one}, "o o", "all have the same policy (1)"},
		"another path": {[]string{one, one + "/elsewhere/readyz"}, "of f", "1 of 2"},
	} {
		checks, err := CompareServers(t.Context(), c.addresses)
		if err != nil {
			t.Fatal(err)
		}
		outcomes := ""
		for i, check := range checks {
			if i == len(checks)-1 {
				outcomes += " "
			}
			outcomes += check.Outcome[:1]
			if check.Outcome != CheckOK && check.Remedy == "" && check.Outcome != CheckWarning {
				t.Errorf("%s: a check without remedy: %+v", name, check)
			}
			if strings.Contains(check.Detail, "<script>") {
				t.Errorf("%s: untrusted text: %q", name, check.Detail)
			}
		}
		if outcomes != c.outcomes || !strings.Contains(checks[len(checks)-1].Detail, c.detail) {
			t.Errorf("%s: got %s, %+v", name, outcomes, checks)
		}
	}
	for _, address := range []string{"", "mcp.example.com", "ftp://a", "https://u:secret@a", "https://a?token=secret", "https://"} {
		if _, err := CompareServers(t.Context(), []string{one, address}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v", address, err)
		}
	}
}
