package registry

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry/registrytest"
)

// TestDistributionRegistry pushes to and pulls from the registry of the distribution project, which Debian packages as docker-registry,
// with TLS and basic authentication.
func TestDistributionRegistry(t *testing.T) {
	registrytest.Each(t, func(t *testing.T, s *registrytest.Server) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Pool}, DisableCompression: true}
		defer transport.CloseIdleConnections()
		client := &Client{Credential: static(Credential{Username: registrytest.User, Password: registrytest.Password})}
		client.HTTP.Transport = transport
		for _, version := range []string{"1.0.0", "1.1.0"} {
			ref, want := reference(t, "oci://"+s.Host+"/team/notes:"+version), sample(version)
			digest, err := client.Push(t.Context(), ref, want)
			if err != nil {
				t.Fatal(err)
			}
			want.Digest = digest
			got, err := client.Pull(t.Context(), ref)
			if diff := cmp.Diff(&want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		}
		if tags, err := client.Tags(t.Context(), reference(t, "oci://"+s.Host+"/team/notes")); err != nil || len(tags) != 2 {
			t.Errorf("got the tags %q, %v", tags, err)
		}
		if _, err := client.Push(t.Context(), reference(t, "oci://"+s.Host+"/team/notes:1.0.0"), sample("1.1.0")); err == nil || !strings.Contains(err.Error(), "has another artifact under this version") {
			t.Errorf("got %v", err)
		}
		stranger := &Client{HTTP: client.HTTP}
		if _, err := stranger.Pull(t.Context(), reference(t, "oci://"+s.Host+"/team/notes:1.0.0")); err == nil || !strings.Contains(err.Error(), "asks for a password") {
			t.Errorf("got %v", err)
		}
		if _, err := (&Client{}).Pull(t.Context(), reference(t, "oci://"+s.Host+"/team/notes:1.0.0")); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("an unknown certificate: got %v", err)
		}
	})
}
