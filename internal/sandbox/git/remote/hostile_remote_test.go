package remote_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// pkt encodes strings as packets. An empty string becomes a flush packet, and "-" a delimiter packet.
func pkt(lines ...string) string {
	var s strings.Builder
	for _, line := range lines {
		switch line {
		case "":
			s.WriteString("0000")
		case "-":
			s.WriteString("0001")
		default:
			fmt.Fprintf(&s, "%04x%s", len(line)+4, line)
		}
	}
	return s.String()
}

// hostileServer starts a server that responds to the first request with first. To respond to any other request, it calls then.
func hostileServer(tb testing.TB, first string, then func(w io.Writer)) git.Config {
	return remoteServer(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = io.WriteString(w, first)
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		then(w)
	}))
}

var firstV2 = pkt("# service=git-upload-pack\n", "", "version 2\n", "ls-refs\n", "fetch=shallow\n", "")

func TestHostileReferenceListsFail(t *testing.T) {
	hash := strings.Repeat("ab", 20)
	endless := func(line string) func(io.Writer) {
		return func(w io.Writer) {
			chunk := strings.Repeat(pkt(line), 1000)
			for {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}
	}
	nothing := func(io.Writer) {}
	cases := []struct {
		rule, first string
		then        func(io.Writer)
		why         string
	}{
		{"no protocol", "<html>", nothing, "does not speak git's protocol"},
		{"an invalid length", "zzzz", nothing, "does not speak git's protocol"},
		{"a length below the header", "0003", nothing, "does not speak git's protocol"},
		{"a packet that is too long", "ffff" + strings.Repeat("x", 1<<17), nothing, "does not speak git's protocol"},
		{"a truncated response", pkt("# service=git-upload-pack\n", "")[:20], nothing, "truncated"},
		{"nothing", "", nothing, "truncated"},
		{"its own error", pkt("ERR no \x1b[31mway\n"), nothing, `says "no \x1b[31mway"`},
		{"capabilities without end", pkt("version 2\n") + strings.Repeat(pkt("a\n", "b\n", "c\n", "d\n", "e\n"), 1) + manyCapabilities(), nothing, "over 100 capabilities"},
		{"another kind of hashes", pkt("version 2\n", "object-format=sha256\n", ""), nothing, "SHA-1"},
		{"references without end", firstV2, endless(hash + " refs/heads/x\n"), "more than 10000 references"},
		{"malformed references without end", firstV2, endless(hash + " refs/../x\n"), "larger than 67108864 bytes"},
		{"a reference without a name", firstV2, func(w io.Writer) { _, _ = io.WriteString(w, pkt(hash+"\n", "")) }, "without a name"},
		{"a reference that is no hash", firstV2, func(w io.Writer) { _, _ = io.WriteString(w, pkt("xyz refs/heads/x\n", "")) }, "which is not a hash"},
		{"a truncated list", firstV2, func(w io.Writer) { _, _ = io.WriteString(w, pkt(hash+" refs/heads/x\n")) }, "truncated"},
		{"references of version 0 without end", pkt("# service=git-upload-pack\n", "", hash+" HEAD\x00x\n") + strings.Repeat(pkt(hash+" refs/heads/x\n"), 10_001), nothing, "more than 10000 references"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			ops := git.New(hostileServer(t, c.first, c.then))
			gittest.FailsWith(t, c.why, func(ctx context.Context) error {
				_, err := ops.ListRemote(ctx, abi.GitRemoteQuery{URL: "https://example.com/r.git"})
				return err
			})
		})
	}
	for status, why := range map[int]string{401: "credentials", 403: "credentials", 404: "no such repository", 500: "status 500", 204: "status 204"} {
		t.Run(fmt.Sprint("status ", status), func(t *testing.T) {
			ops := git.New(remoteServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })))
			gittest.FailsWith(t, why, func(ctx context.Context) error {
				_, err := ops.ListRemote(ctx, abi.GitRemoteQuery{URL: "https://example.com/r.git"})
				return err
			})
		})
	}
	t.Run("an answer that does not come ends with the call", func(t *testing.T) {
		stop := make(chan struct{})
		config := remoteServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
		ctx, cancel := context.WithCancel(t.Context())
		transport := config.Transport.(*http.Transport)
		transport.DialContext = cancelling(transport.DialContext, cancel)
		_, err := git.New(config).ListRemote(ctx, abi.GitRemoteQuery{URL: "https://example.com/r.git"})
		close(stop)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

type dialFunc = func(context.Context, string, string) (net.Conn, error)

// cancelling returns a dial function that calls cancel after it has connected.
func cancelling(dial dialFunc, cancel func()) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		cancel()
		return conn, err
	}
}

func manyCapabilities() string {
	var s strings.Builder
	for i := range 200 {
		s.WriteString(pkt(fmt.Sprintf("c%d\n", i)))
	}
	return s.String()
}

// packOf encodes a pack with a valid checksum.
func packOf(count uint32, entries ...[]byte) []byte {
	out := bytes.NewBufferString("PACK\x00\x00\x00\x02")
	_ = binary.Write(out, binary.BigEndian, count)
	for _, e := range entries {
		out.Write(e)
	}
	sum := sha1.Sum(out.Bytes())
	return append(out.Bytes(), sum[:]...)
}

func TestHostileReceivedPacksFail(t *testing.T) {
	testenv.NotShort(t, "makes and reads large repositories")
	other := plumbing.NewHash(strings.Repeat("cd", 20))
	raw := func(kind plumbing.ObjectType, content string) (plumbing.Hash, []byte) {
		return plumbing.ComputeHash(kind, []byte(content)), gittest.EntryBytes(kind, len(content), nil, []byte(content))
	}
	whole := func(path string) (plumbing.Hash, [][]byte) {
		blob, blobEntry := raw(plumbing.BlobObject, "x")
		name, rest, nested := strings.Cut(path, "|")
		entries := [][]byte{blobEntry}
		if nested {
			sub, subEntry := raw(plumbing.TreeObject, "100644 "+rest+"\x00"+string(blob[:]))
			blob, entries = sub, append(entries, subEntry)
		}
		mode := map[bool]string{true: "40000 ", false: "100644 "}[nested]
		tree, treeEntry := raw(plumbing.TreeObject, mode+name+"\x00"+string(blob[:]))
		commit, commitEntry := raw(plumbing.CommitObject, "tree "+tree.String()+"\n\nm\n")
		return commit, append(entries, treeEntry, commitEntry)
	}
	commit, good := whole("a")
	delta := []byte{1, 1, 0x90, 1}
	cases := []struct {
		rule   string
		commit plumbing.Hash
		pack   []byte
		why    string
	}{
		{"no pack", commit, []byte("hello"), "a pack of version 2"},
		{"an empty pack", commit, packOf(0), "missing"},
		{"a wrong checksum", commit, append(packOf(3, good...), 'x'), "checksum"},
		{"more objects than are sent", commit, packOf(9, good...), "truncated"},
		{"four billion objects", commit, packOf(0xffffffff, good...), "more than 500000 objects"},
		{"not the commit", plumbing.NewHash(strings.Repeat("ab", 20)), packOf(3, good...), "missing"},
		{"an object that claims a terabyte", commit, packOf(1, gittest.EntryBytes(plumbing.BlobObject, 1<<40, nil, []byte("x"))), "more than the limit"},
		{"an object that inflates without end", commit, packOf(1, gittest.EntryBytes(plumbing.BlobObject, 10, nil, make([]byte, 1<<28))), "exceeds declared size"},
		{"a delta of itself", commit, packOf(1, gittest.EntryBytes(plumbing.OFSDeltaObject, 4, []byte{0}, delta)), "delta offset"},
		{"a delta of what is not sent", commit, packOf(1, gittest.EntryBytes(plumbing.REFDeltaObject, 4, other[:], delta)), "missing"},
		{"a delta of the middle of an object", commit, packOf(4, append(good[:3:3], gittest.EntryBytes(plumbing.OFSDeltaObject, 4, []byte{5}, delta))...), ""},
		{"an object of no type", commit, packOf(1, gittest.EntryBytes(5, 1, nil, []byte("x"))), "type 5"},
		{"a tree with .git", at(whole(".git|config")), packOf(4, of(whole(".git|config"))...), "resolve into .git"},
		{"a tree with a name that folds to it", at(whole("git~1|config")), packOf(4, of(whole("git~1|config"))...), "resolve into .git"},
		{"a tree with \"..\"", at(whole("..|x")), packOf(4, of(whole("..|x"))...), "the name"},
		{"a tree with backslashes that lead upward", at(whole(`..\x`)), packOf(3, of(whole(`..\x`))...), "resolve into .git"},
		{"a name that is not UTF-8", at(whole("\xff")), packOf(3, of(whole("\xff"))...), "not UTF-8"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			ops := git.New(hostileServer(t, firstV2, func(w io.Writer) { sendPack(w, c.pack) }))
			gittest.FailsWith(t, c.why, func(ctx context.Context) error {
				_, err := ops.Fetch(ctx, abi.GitFetch{URL: "https://example.com/r.git", Commit: c.commit.String()})
				return err
			})
		})
	}
	t.Run("a pack without end", func(t *testing.T) {
		ops := git.New(hostileServer(t, firstV2, func(w io.Writer) {
			_, _ = io.WriteString(w, pkt("packfile\n"))
			chunk := pkt("\x01" + strings.Repeat("x", 60_000))
			for {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}))
		gittest.FailsWith(t, "larger than 67108864 bytes", func(ctx context.Context) error {
			_, err := ops.Fetch(ctx, abi.GitFetch{URL: "https://example.com/r.git", Commit: commit.String()})
			return err
		})
	})
	t.Run("progress without end", func(t *testing.T) {
		ops := git.New(hostileServer(t, firstV2, func(w io.Writer) {
			_, _ = io.WriteString(w, pkt("packfile\n"))
			chunk := pkt("\x02" + strings.Repeat("x", 60_000))
			for {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}))
		gittest.FailsWith(t, "bytes", func(ctx context.Context) error {
			_, err := ops.Fetch(ctx, abi.GitFetch{URL: "https://example.com/r.git", Commit: commit.String()})
			return err
		})
	})
	t.Run("a good one is taken", func(t *testing.T) {
		ops := git.New(hostileServer(t, firstV2, func(w io.Writer) { sendPack(w, packOf(3, good...)) }))
		got, err := ops.Fetch(t.Context(), abi.GitFetch{URL: "https://example.com/r.git", Commit: commit.String()})
		want := []abi.GitFetchedFile{{Path: "a", Mode: "100644", Content: []byte("x")}}
		if diff := cmp.Diff(want, got.Files); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}

func at(commit plumbing.Hash, _ [][]byte) plumbing.Hash { return commit }

func of(_ plumbing.Hash, entries [][]byte) [][]byte { return entries }

func sendPack(w io.Writer, pack []byte) {
	_, _ = io.WriteString(w, pkt("packfile\n"))
	for len(pack) > 0 {
		n := min(len(pack), 60_000)
		_, _ = io.WriteString(w, pkt("\x01"+string(pack[:n])))
		pack = pack[n:]
	}
	_, _ = io.WriteString(w, pkt(""))
}

func TestFetchAcceptsDeltasBeforeBases(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT CHECKED against git: the git program is not on PATH")
	}
	blob := strings.Repeat("x", 100)
	base := plumbing.ComputeHash(plumbing.BlobObject, []byte(blob))
	middle := plumbing.ComputeHash(plumbing.BlobObject, []byte(blob[:50]))
	last := plumbing.ComputeHash(plumbing.BlobObject, []byte(blob[:25]))
	tree := "100644 a\x00" + string(base[:]) + "100644 b\x00" + string(middle[:]) + "100644 c\x00" + string(last[:])
	commit := "tree " + plumbing.ComputeHash(plumbing.TreeObject, []byte(tree)).String() + "\n\nm\n"
	pack := packOf(5,
		gittest.EntryBytes(plumbing.REFDeltaObject, 4, middle[:], []byte{50, 25, 0x90, 25}),
		gittest.EntryBytes(plumbing.REFDeltaObject, 4, base[:], []byte{100, 50, 0x90, 50}),
		gittest.EntryBytes(plumbing.CommitObject, len(commit), nil, []byte(commit)),
		gittest.EntryBytes(plumbing.BlobObject, len(blob), nil, []byte(blob)),
		gittest.EntryBytes(plumbing.TreeObject, len(tree), nil, []byte(tree)))
	ops := git.New(hostileServer(t, firstV2, func(w io.Writer) { sendPack(w, pack) }))
	got, err := ops.Fetch(t.Context(), abi.GitFetch{URL: "https://example.com/r.git", Commit: plumbing.ComputeHash(plumbing.CommitObject, []byte(commit)).String()})
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, f := range got.Files {
		sizes = append(sizes, len(f.Content))
	}
	if diff := cmp.Diff([]int{100, 50, 25}, sizes); diff != "" {
		t.Error(diff)
	}
}

// FuzzRemote checks that arbitrary responses make the operations return or fail without a panic.
func FuzzRemote(f *testing.F) {
	hash := strings.Repeat("ab", 20)
	f.Add(firstV2, pkt(hash+" refs/heads/main symref-target:x peeled:"+hash+"\n", ""))
	f.Add(firstV2, pkt("packfile\n", "\x01"+string(packOf(0)), ""))
	f.Add(firstV2, pkt("shallow-info\n", "shallow "+hash+"\n", "-", "packfile\n", "\x02x", "\x03no", ""))
	f.Add(pkt("# service=git-upload-pack\n", "", hash+" HEAD\x00side-band-64k shallow symref=HEAD:refs/heads/main\n", hash+" refs/tags/v^{}\n", ""), pkt("NAK\n", "\x01PACK", ""))
	f.Fuzz(func(t *testing.T, a, b string) {
		ops := git.New(git.Config{Remotes: []string{"*"}, Transport: cannedTransport{a, b}})
		_, err1 := ops.ListRemote(t.Context(), abi.GitRemoteQuery{URL: "https://example.com/r.git"})
		_, err2 := ops.Fetch(t.Context(), abi.GitFetch{URL: "https://example.com/r.git", Commit: hash})
		for _, err := range []error{err1, err2} {
			if c := gittest.Code(err); c != "" && c != abi.HostFailed || err != nil && strings.Contains(err.Error(), "damaged: runtime error") {
				t.Fatal(err)
			}
		}
	})
}

// cannedTransport returns first as the response to the first request, and then as the response to all others.
type cannedTransport struct{ first, then string }

func (s cannedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	kind, body := "advertisement", s.first
	if r.Method == http.MethodPost {
		kind, body = "result", s.then
	}
	return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/x-git-upload-pack-" + kind}}}, nil
}

// FuzzReceivedPack checks that an arbitrary pack with a valid checksum yields the right file or an error.
func FuzzReceivedPack(f *testing.F) {
	blob := gittest.EntryBytes(plumbing.BlobObject, 1, nil, []byte("x"))
	h := plumbing.ComputeHash(plumbing.BlobObject, []byte("x"))
	tree := "100644 a\x00" + string(h[:])
	commit := "tree " + plumbing.ComputeHash(plumbing.TreeObject, []byte(tree)).String() + "\n\nm\n"
	want := plumbing.ComputeHash(plumbing.CommitObject, []byte(commit)).String()
	rest := [][]byte{gittest.EntryBytes(plumbing.TreeObject, len(tree), nil, []byte(tree)), gittest.EntryBytes(plumbing.CommitObject, len(commit), nil, []byte(commit))}
	f.Add(packOf(3, append(rest, blob)...))
	f.Add(packOf(4, append(rest, gittest.EntryBytes(plumbing.REFDeltaObject, 4, h[:], []byte{1, 1, 0x90, 1}), blob)...))
	f.Add(packOf(4, append(rest, blob, gittest.EntryBytes(plumbing.OFSDeltaObject, 4, []byte{10}, []byte{1, 1, 0x90, 1}))...))
	f.Add(packOf(9))
	f.Fuzz(func(t *testing.T, pack []byte) {
		if len(pack) > 20 {
			sum := sha1.Sum(pack[:len(pack)-20])
			pack = append(bytes.Clone(pack[:len(pack)-20]), sum[:]...)
		}
		var answer strings.Builder
		sendPack(&answer, pack)
		ops := git.New(git.Config{Remotes: []string{"*"}, Transport: cannedTransport{firstV2, answer.String()}})
		got, err := ops.Fetch(t.Context(), abi.GitFetch{URL: "https://example.com/r.git", Commit: want})
		if c := gittest.Code(err); c != "" && c != abi.HostFailed || err != nil && strings.Contains(err.Error(), "damaged: runtime error") {
			t.Fatal(err)
		}
		if err == nil && (len(got.Files) != 1 || string(got.Files[0].Content) != "x") {
			t.Fatalf("got %v", got.Files)
		}
	})
}
