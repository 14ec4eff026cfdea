package ui

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0000000000000000 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:C351 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0000000000000000 20 4 30 10 -1
   3: 0100007F:C353 0100007F:1F91 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0000000000000000 20 4 30 10 -1
   4: damaged
   5: 0100007F:C355 0100007F:1F90 06 00000000:00000000 03:00001767 00000000     0        0 0 3 0000000000000000
`

const table6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4 1 0000000000000000 20 4 30 10 -1
`

func TestPeersOfOtherUsersAreFound(t *testing.T) {
	files := map[string]string{"tcp": table, "tcp6": table6}
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := netip.MustParseAddrPort("127.0.0.1:8080")
	for peer, want := range map[string]string{
		"127.0.0.1:50000": "the user with the ID 1001",
		"127.0.0.1:50001": "", // the superuser
		"127.0.0.1:50002": "", // the user, by a socket of IPv6
		"127.0.0.1:50003": "its user is not known",
		"127.0.0.1:50004": "its user is not known",
		"127.0.0.1:50005": "its user is not known", // closed
	} {
		got := peerIn(netip.MustParseAddrPort(peer), server, 1000, filepath.Join(dir, "tcp"), filepath.Join(dir, "tcp6"))
		if !strings.HasSuffix(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", peer, got, want)
		}
	}
}

// TestDiagnosisAgreesWithTables looks for the sockets of a connection, over IPv4 and as IPv6 has it, and for one that does not exist.
func TestDiagnosisAgreesWithTables(t *testing.T) {
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, network := range []string{"tcp4", "tcp"} {
		address := l.Addr().String()
		if network == "tcp" {
			address = "[::ffff:127.0.0.1]:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		}
		client, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		peer, local := addrPort(server.RemoteAddr()), addrPort(server.LocalAddr())
		if user, found, err := diagnose(peer, local); err != nil || !found || user != os.Geteuid() {
			t.Errorf("%s: user %d, found %t, %v", network, user, found, err)
		}
		if why := peerIn(peer, local, os.Geteuid(), "/proc/net/tcp", "/proc/net/tcp6"); why != "" {
			t.Errorf("%s: the tables: %s", network, why)
		}
		_ = client.Close()
		_ = server.Close()
		absent := netip.AddrPortFrom(peer.Addr(), 1)
		if _, found, err := diagnose(absent, local); err != nil || found {
			t.Errorf("%s: port 1: found %t, %v", network, found, err)
		}
	}
}

// TestConnectionOfAnotherUserIsRefused connects as the user nobody, with the right cookie.
func TestConnectionOfAnotherUserIsRefused(t *testing.T) {
	curl := testenv.RunnerAs(t, "curl")
	r := start(t)
	r.open()
	request := func(user uint32) (string, error) {
		return curl(user, "-sS", "--noproxy", "*", "-b", cookieName+"="+r.session.cookie, r.url("/hello"))
	}
	if out, err := request(0); err != nil || !strings.Contains(out, "Hello, browser") {
		t.Fatalf("the user's own process gets %v: %s", err, out)
	}
	if out, err := request(testenv.Nobody); err == nil || strings.Contains(out, "Hello") {
		t.Errorf("the process of another user gets %v: %s", err, out)
	}
}
