package signature

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"aead.dev/minisign"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/scrypt"
)

// Made by minisign itself: the examples of its verifiers in other languages.
const (
	minisignKey = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
	prehashed   = "untrusted comment: signature from minisign secret key\nRUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\ntrusted comment: timestamp:1556193335\tfile:test\ny/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n"
	legacy      = "untrusted comment: signature from minisign secret key\nRWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=\ntrusted comment: timestamp:1555779966\tfile:test\nQtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==\n"
)

func TestVerifyAcceptsSignatureOfMinisign(t *testing.T) {
	key, s := parsed(t, minisignKey, prehashed)
	if got, err := s.Verify(strings.NewReader("test"), key); err != nil || got != key {
		t.Fatalf("got %v, %v", got, err)
	}
	if s.KeyID() != key.ID() || key.ID() != "E7620F1842B4E81F" || s.Comment() != "timestamp:1556193335\tfile:test" {
		t.Errorf("got the key %s of %s, comment %q", s.KeyID(), key.ID(), s.Comment())
	}
	if claimed, ok := s.ClaimedKey(); ok {
		t.Errorf("claims the key %s", claimed)
	}
}

func parsed(t *testing.T, key, text string) (Key, *Signature) {
	t.Helper()
	k, kerr := ParseKey(key)
	s, serr := Parse([]byte(text))
	if err := errors.Join(kerr, serr); err != nil {
		t.Fatal(err)
	}
	return k, s
}

func generate(t *testing.T) Private {
	t.Helper()
	p, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sign(t *testing.T, p Private, content, comment string) []byte {
	t.Helper()
	text, err := p.Sign(strings.NewReader(content), comment)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestVerifyRefusesOtherFileKeyAndComment(t *testing.T) {
	author, other := generate(t), generate(t)
	text := sign(t, author, "content", "notes 1.2.3")
	_, s := parsed(t, author.Public().String(), string(text))
	_, changed := parsed(t, author.Public().String(), strings.Replace(string(text), "notes 1.2.3", "notes 9.9.9", 1))
	for name, c := range map[string]struct {
		s    *Signature
		file io.Reader
		keys []Key
		want error
	}{
		"another file":         {s, strings.NewReader("Content"), []Key{author.Public()}, ErrChanged},
		"a truncated file":     {s, strings.NewReader("conten"), []Key{author.Public()}, ErrChanged},
		"an empty file":        {s, strings.NewReader(""), []Key{author.Public()}, ErrChanged},
		"another key":          {s, strings.NewReader("content"), []Key{other.Public()}, ErrOtherKey},
		"no key":               {s, strings.NewReader("content"), nil, ErrOtherKey},
		"the zero key":         {s, strings.NewReader("content"), []Key{{}}, ErrOtherKey},
		"a changed comment":    {changed, strings.NewReader("content"), []Key{author.Public()}, ErrChanged},
		"a file that fails":    {s, iotest.ErrReader(io.ErrUnexpectedEOF), []Key{author.Public()}, io.ErrUnexpectedEOF},
		"one of several keys":  {s, strings.NewReader("content"), []Key{other.Public(), author.Public()}, nil},
		"a key of the same id": {s, strings.NewReader("content"), []Key{sameID(t, author, other)}, ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.s.Verify(c.file, c.keys...)
			if !errors.Is(err, c.want) || (err == nil) != (got == author.Public()) {
				t.Errorf("got %v, %v; want the error %v", got, err, c.want)
			}
		})
	}
}

func TestVerifyCommentNeedsNoFile(t *testing.T) {
	key, s := parsed(t, minisignKey, prehashed)
	if got, err := s.VerifyComment(key); err != nil || got != key {
		t.Errorf("a signature of minisign: got %v, %v", got, err)
	}
	author, other := generate(t), generate(t)
	text := string(sign(t, author, "content", "notes 1.2.3"))
	lines := strings.SplitAfter(text, "\n")
	otherLines := strings.SplitAfter(string(sign(t, author, "other", "notes 1.2.3")), "\n")
	for name, c := range map[string]struct {
		text string
		keys []Key
		want error
	}{
		"signed":                       {text, []Key{author.Public()}, nil},
		"one of several keys":          {text, []Key{other.Public(), {}, author.Public()}, nil},
		"another claimed key":          {strings.Replace(text, author.Public().String(), other.Public().String(), 1), []Key{author.Public()}, nil},
		"a changed comment":            {strings.Replace(text, "1.2.3", "1.2.4", 1), []Key{author.Public()}, ErrChanged},
		"the signature of a file":      {lines[0] + otherLines[1] + lines[2] + lines[3], []Key{author.Public()}, ErrChanged},
		"another key":                  {text, []Key{other.Public()}, ErrOtherKey},
		"no key":                       {text, nil, ErrOtherKey},
		"the zero key":                 {text, []Key{{}}, ErrOtherKey},
		"a key of the same identifier": {text, []Key{sameID(t, author, other)}, ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.VerifyComment(c.keys...)
			if !errors.Is(err, c.want) || (err == nil) != (got == author.Public()) {
				t.Errorf("got %v, %v; want the error %v", got, err, c.want)
			}
		})
	}
}

// sameID returns the public key of other with the identifier of p.
func sameID(t *testing.T, p, other Private) Key {
	mixed, err := base64.StdEncoding.DecodeString(other.Public().String())
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(mixed[2:], p.Public().decode().ID())
	key, err := ParseKey(base64.StdEncoding.EncodeToString(mixed))
	if err != nil || key.ID() != p.Public().ID() {
		t.Fatalf("got %v with id %s, %v", key, key.ID(), err)
	}
	return key
}

func TestParseRefuses(t *testing.T) {
	good := string(sign(t, generate(t), "content", "comment"))
	lines := strings.SplitAfter(good, "\n")
	for name, c := range map[string]struct{ text, want string }{
		"nothing":               {"", "no signature of minisign"},
		"another format":        {"-----BEGIN PGP SIGNATURE-----\n", "no signature of minisign"},
		"a missing line":        {lines[0] + lines[1] + lines[2], "no signature of minisign"},
		"no base64":             {lines[0] + "!" + lines[1] + lines[2] + lines[3], "no signature of minisign"},
		"a short signature":     {lines[0] + lines[1][4:] + lines[2] + lines[3], "no signature of minisign"},
		"another algorithm":     {lines[0] + "XX" + lines[1][2:] + lines[2] + lines[3], "no signature of minisign"},
		"the legacy format":     {legacy, "legacy format of minisign"},
		"more lines":            {good + "\n", "differs from what minisign writes"},
		"no end of line":        {strings.TrimSuffix(good, "\n"), "differs from what minisign writes"},
		"line ends of Windows":  {strings.ReplaceAll(good, "\n", "\r\n"), "differs from what minisign writes"},
		"line ends in base64":   {lines[0] + lines[1][:20] + "\r" + lines[1][20:] + lines[2] + lines[3], "differs from what minisign writes"},
		"a very long comment":   {strings.Replace(good, "comment\n", strings.Repeat("c", MaxSize)+"\n", 1), "more than 4096 bytes"},
		"base64 with other end": {lines[0] + strings.Replace(lines[1], "=\n", "\n", 1) + lines[2] + lines[3], "no signature of minisign"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestParseKeyRefuses(t *testing.T) {
	for _, text := range []string{"", "x", minisignKey[:55], minisignKey + "\n", minisignKey + "A", "untrusted comment: x\n" + minisignKey,
		"RWQ\r" + minisignKey[3:], "RUQ" + minisignKey[3:], strings.Repeat("R", 10000)} {
		if key, err := ParseKey(text); err == nil {
			t.Errorf("%q was parsed as %v", text, key)
		}
	}
}

func TestSignatureIsDeterministicAndNamesItsKey(t *testing.T) {
	p := generate(t)
	text := sign(t, p, "content", "notes 1.2.3")
	if again := sign(t, p, "content", "notes 1.2.3"); !bytes.Equal(text, again) {
		t.Errorf("two signatures of the same file differ:\n%s\n%s", text, again)
	}
	key, s := parsed(t, p.Public().String(), string(text))
	claimed, ok := s.ClaimedKey()
	if !ok || claimed != key || s.Comment() != "notes 1.2.3" || !bytes.Equal(s.Text(), text) {
		t.Errorf("got %v, %t, comment %q", claimed, ok, s.Comment())
	}
	if _, err := p.Sign(strings.NewReader(""), "two\nlines"); err == nil {
		t.Error("a comment of two lines was signed")
	}
}

// TestClaimedKeyIsNotTrusted replaces the claimed key: the signature still verifies with the signer's key only.
func TestClaimedKeyIsNotTrusted(t *testing.T) {
	author, thief := generate(t), generate(t)
	text := strings.Replace(string(sign(t, author, "content", "c")), author.Public().String(), thief.Public().String(), 1)
	_, s := parsed(t, minisignKey, text)
	claimed, ok := s.ClaimedKey()
	if !ok || claimed != thief.Public() {
		t.Fatalf("got %v, %t", claimed, ok)
	}
	if _, err := s.Verify(strings.NewReader("content"), claimed); !errors.Is(err, ErrOtherKey) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Verify(strings.NewReader("content"), author.Public()); err != nil {
		t.Error(err)
	}
}

func TestMinisignProgramVerifiesSignature(t *testing.T) {
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign is not installed")
	}
	p, dir := generate(t), t.TempDir()
	file := filepath.Join(dir, "notes.tar")
	if err := errors.Join(os.WriteFile(file, []byte("content"), 0o600), os.WriteFile(file+".minisig", sign(t, p, "content", "notes 1.2.3"), 0o600)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "-V", "-P", p.Public().String(), "-m", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "notes 1.2.3") {
		t.Errorf("got %v: %s", err, out)
	}
}

func TestPrivateKeyFile(t *testing.T) {
	dir := t.TempDir()
	p, file := generate(t), filepath.Join(dir, "new", "signing.key")
	noPassword := func() (string, error) { t.Error("asked for a password"); return "", nil }
	if _, err := ReadPrivate(file, noPassword); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadPrivate of an absent file: got %v", err)
	}
	if err := p.Create(file); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want mode 0600", info.Mode(), err)
	}
	got, err := ReadPrivate(file, noPassword)
	if err != nil || got.Public() != p.Public() || !bytes.Equal(sign(t, got, "x", "c"), sign(t, p, "x", "c")) {
		t.Errorf("got %v, %v", got, err)
	}
	if err := generate(t).Create(file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a key: got %v", err)
	}
	if again, err := ReadPrivate(file, noPassword); err != nil || again.Public() != p.Public() {
		t.Errorf("the key was replaced by %v, %v", again, err)
	}
}

func TestReadPrivateRefuses(t *testing.T) {
	p := generate(t)
	text, err := p.key.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(text)
	damaged[len(damaged)-60] ^= 1
	for name, c := range map[string]struct {
		content []byte
		mode    fs.FileMode
		want    string
	}{
		"a file that others can read":  {text, 0o640, "can be read by others (mode 0640): chmod 600"},
		"a file that others can write": {text, 0o620, "can be written by others"},
		"a public key":                 {[]byte(minisignKey), 0o600, "is no private key of minisign"},
		"nothing":                      {nil, 0o600, "is no private key of minisign"},
		"a damaged key":                {damaged, 0o600, "is no private key of minisign"},
		"a large file":                 {bytes.Repeat([]byte("x"), maxKeyFile+1), 0o600, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && c.mode != 0o600 {
				t.Skip("Windows has no such modes")
			}
			file := filepath.Join(t.TempDir(), "key")
			if err := errors.Join(os.WriteFile(file, c.content, 0o600), os.Chmod(file, c.mode)); err != nil {
				t.Fatal(err)
			}
			_, err := ReadPrivate(file, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && bytes.Contains([]byte(err.Error()), text[60:]) {
				t.Errorf("the error contains the key: %v", err)
			}
		})
	}
}

func TestReadPrivateDecrypts(t *testing.T) {
	file, p := filepath.Join(t.TempDir(), "key"), generate(t)
	if err := os.WriteFile(file, encrypted(t, p, "secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := func(password string, err error) func() (string, error) {
		return func() (string, error) { return password, err }
	}
	if got, err := ReadPrivate(file, answer("secret", nil)); err != nil || got.Public() != p.Public() {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := ReadPrivate(file, answer("guess1", nil)); err == nil || !strings.Contains(err.Error(), "the password is wrong") || strings.Contains(err.Error(), "guess1") {
		t.Errorf("got %v", err)
	}
	if _, err := ReadPrivate(file, answer("", io.EOF)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// encrypted returns a private key in the format of minisign's encrypted files. The derivation of the key has a lower cost than
// minisign's, which needs 1 GiB and seconds.
func encrypted(t *testing.T, p Private, password string) []byte {
	t.Helper()
	text, err := p.key.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	comment, encoded, _ := bytes.Cut(text, []byte("\n"))
	raw, err := base64.StdEncoding.DecodeString(string(encoded))
	if err != nil {
		t.Fatal(err)
	}
	copy(raw[2:], "Sc")
	binary.LittleEndian.PutUint64(raw[38:], 1<<15) // operations
	binary.LittleEndian.PutUint64(raw[46:], 16<<20)
	sum := blake2b.Sum256(append([]byte("Ed"), raw[54:126]...))
	copy(raw[126:], sum[:])
	stream, err := scrypt.Key([]byte(password), raw[6:38], 1024, 8, 1, 104)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range stream {
		raw[54+i] ^= b
	}
	return fmt.Appendf(nil, "%s\n%s\n", comment, base64.StdEncoding.EncodeToString(raw))
}

func TestPrivateKeyIsNotPrinted(t *testing.T) {
	p := generate(t)
	text, err := p.key.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if got := fmt.Sprintf(format, p); strings.Contains(got, string(text[len(text)-40:])) || !strings.Contains(got, "private key of") {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(prehashed))
	f.Add([]byte(legacy))
	key, err := ParseKey(minisignKey)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if len(text) > MaxSize || s.decoded.Algorithm != minisign.HashEdDSA {
			t.Errorf("accepted %q", text)
		}
		if _, err := s.Verify(strings.NewReader("other"), key); err == nil {
			t.Errorf("verified %q", text)
		}
		if _, err := s.VerifyComment(key); err == nil && s.Comment() != "timestamp:1556193335\tfile:test" {
			t.Errorf("verified the comment of %q", text)
		}
		s.ClaimedKey()
	})
}
