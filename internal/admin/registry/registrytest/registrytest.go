// Package registrytest starts registries of other projects for tests.
package registrytest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// variable names the program of distribution v3, which is called registry like others.
const variable = "BULKHEAD_DISTRIBUTION"

// User and Password are the account of a Server.
const User, Password = "me", "pw"

// Server is a registry with TLS and basic authentication.
type Server struct {
	Host        string
	Certificate string // file
	Pool        *x509.CertPool

	stop func()
}

// Each runs a test with each of the registries: that of Debian, which is distribution 2, and distribution 3. The test of one that is not
// installed is skipped.
func Each(t *testing.T, test func(t *testing.T, s *Server)) {
	for name, find := range map[string]func(t *testing.T) string{"docker-registry": findDebian, "distribution": findDistribution} {
		t.Run(name, func(t *testing.T) {
			testenv.NotShort(t, "starts a registry")
			test(t, start(t, find(t)))
		})
	}
}

func findDebian(t *testing.T) string {
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("docker-registry of Debian is not installed")
	}
	return program
}

func findDistribution(t *testing.T) string {
	program := os.Getenv(variable)
	if program == "" {
		t.Skip(variable + " does not name the program of github.com/distribution/distribution/v3/cmd/registry")
	}
	return program
}

func start(t *testing.T, program string) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{Host: freeAddress(t), Certificate: filepath.Join(dir, "cert.pem"), Pool: writeCertificate(t, dir)}
	password, err := bcrypt.GenerateFromPassword([]byte(Password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	testenv.WriteFile(t, filepath.Join(dir, "htpasswd"), User+":"+string(password)+"\n")
	testenv.WriteFile(t, filepath.Join(dir, "config.yml"), fmt.Sprintf(`version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: %[1]s/data}}
http: {addr: "%[2]s", secret: x, tls: {certificate: %[1]s/cert.pem, key: %[1]s/key.pem}}
auth: {htpasswd: {realm: test, path: %[1]s/htpasswd}}
`, dir, s.Host))
	ctx, stop := context.WithCancel(t.Context())
	server := exec.CommandContext(ctx, program, "serve", filepath.Join(dir, "config.yml"))
	server.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none") // distribution 3 would send them somewhere
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = server.Wait() // it is killed
		close(ended)
	}()
	s.stop = func() {
		stop()
		<-ended
	}
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("the registry's log: %s", log.String())
		}
	})
	s.awaitListener(t, ended)
	return s
}

// Stop ends the registry.
func (s *Server) Stop() { s.stop() }

// DockerConfig writes the account into a configuration of Docker, and returns its directory, for DOCKER_CONFIG.
func (s *Server) DockerConfig(t *testing.T) string {
	t.Helper()
	account := base64.StdEncoding.EncodeToString([]byte(User + ":" + Password))
	return testenv.Tree(t, map[string]string{"config.json": fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, s.Host, account)})
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

// awaitListener waits until the registry accepts connections.
func (s *Server) awaitListener(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for range 1500 {
		if c, err := net.Dial("tcp", s.Host); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-retry.C:
		case <-ended:
			t.Fatal("the registry has ended")
		}
	}
	t.Fatalf("nothing listens at %s", s.Host)
}
