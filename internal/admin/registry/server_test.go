package registry

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestDistributionRegistry pushes to and pulls from the registry of the distribution project, which Debian packages as docker-registry,
// with TLS and basic authentication.
func TestDistributionRegistry(t *testing.T) {
	testenv.NotShort(t, "starts a registry")
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("docker-registry is not installed")
	}
	dir := t.TempDir()
	pool := writeCertificate(t, dir)
	password, err := bcrypt.GenerateFromPassword([]byte("pw"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	host := freeAddress(t)
	testenv.WriteFile(t, filepath.Join(dir, "htpasswd"), "me:"+string(password)+"\n")
	testenv.WriteFile(t, filepath.Join(dir, "config.yml"), fmt.Sprintf(`version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: %[1]s/data}}
http: {addr: "%[2]s", secret: x, tls: {certificate: %[1]s/cert.pem, key: %[1]s/key.pem}}
auth: {htpasswd: {realm: test, path: %[1]s/htpasswd}}
`, dir, host))
	ctx, stop := context.WithCancel(t.Context())
	server := exec.CommandContext(ctx, program, "serve", filepath.Join(dir, "config.yml"))
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stop()
		_ = server.Wait() // it was killed
		if t.Failed() {
			t.Logf("the registry's log: %s", log.String())
		}
	}()
	awaitListener(t, host)

	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &Client{Credential: static(Credential{Username: "me", Password: "pw"})}
	client.HTTP.Transport = transport
	for _, version := range []string{"1.0.0", "1.1.0"} {
		ref, want := reference(t, "oci://"+host+"/team/notes:"+version), sample(version)
		if want.Digest, err = client.Push(t.Context(), ref, want); err != nil {
			t.Fatal(err)
		}
		got, err := client.Pull(t.Context(), ref)
		if diff := cmp.Diff(&want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	if tags, err := client.Tags(t.Context(), reference(t, "oci://"+host+"/team/notes")); err != nil || len(tags) != 2 {
		t.Errorf("got the tags %q, %v", tags, err)
	}
	if _, err := client.Push(t.Context(), reference(t, "oci://"+host+"/team/notes:1.0.0"), sample("1.1.0")); err == nil || !strings.Contains(err.Error(), "has another artifact under this version") {
		t.Errorf("got %v", err)
	}
	stranger := &Client{HTTP: client.HTTP}
	if _, err := stranger.Pull(t.Context(), reference(t, "oci://"+host+"/team/notes:1.0.0")); err == nil || !strings.Contains(err.Error(), "asks for a password") {
		t.Errorf("got %v", err)
	}
	if _, err := (&Client{}).Pull(t.Context(), reference(t, "oci://"+host+"/team/notes:1.0.0")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: got %v", err)
	}
}

// writeCertificate writes a certificate for loopback addresses, and its key, and returns a pool that trusts it.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	testenv.WriteFile(t, filepath.Join(dir, "cert.pem"), string(text))
	testenv.WriteFile(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// awaitListener waits until a server accepts connections.
func awaitListener(t *testing.T, address string) {
	t.Helper()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for range 1500 {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
		<-retry.C
	}
	t.Fatalf("nothing listens at %s", address)
}
