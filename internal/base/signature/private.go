package signature

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"aead.dev/minisign"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxKeyFile is the maximum size of a file with a private key, in bytes.
const maxKeyFile = 4 << 10

// Private is a private key. No method and no error shows it.
type Private struct{ key minisign.PrivateKey }

// Public returns the public key.
func (p Private) Public() Key {
	public, _ := p.key.Public().(minisign.PublicKey)
	return Key{public.String()}
}

func (p Private) String() string { return "private key of " + p.Public().String() }

// GoString keeps the key out of the output of %#v.
func (p Private) GoString() string { return p.String() }

// Sign returns the signature of file, with a comment that is signed too, is one line and has at most 1 KiB. The same file, comment and key
// have the same signature.
func (p Private) Sign(file io.Reader, comment string) ([]byte, error) {
	if strings.ContainsAny(comment, "\r\n") || len(comment) > 1<<10 {
		return nil, errors.New("the comment of a signature is one line of at most 1 KiB")
	}
	digest := minisign.NewReader(file)
	if _, err := io.Copy(io.Discard, digest); err != nil {
		return nil, err
	}
	return digest.SignWithComments(p.key, comment, claim+p.Public().String()), nil
}

// Generate returns a new private key.
func Generate() (Private, error) {
	_, key, err := minisign.GenerateKey(nil)
	return Private{key}, err
}

// Create writes the private key to a new file that only the user can access, in the format of minisign without a password. It creates the
// file's directory. The error is fs.ErrExist if the file exists.
func (p Private) Create(file string) error {
	text, err := p.key.MarshalText()
	if err != nil {
		return err
	}
	if err := ownedpath.Make(filepath.Dir(file)); err != nil {
		return usage.Errorf("%s", ownedpath.Explain(err))
	}
	err = atomicfile.Create(file, append(text, '\n'), atomicfile.Options{Mode: 0o600, Pattern: ".bulkhead-*.tmp", SweepAge: atomicfile.LongestWrite})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return usage.Errorf("%s cannot be written: %w", file, usage.Cause(err))
	}
	return err
}

// ReadPrivate reads a file with a private key, of this package or of minisign. password is called if the file is encrypted, as minisign does
// unless told otherwise. The error is
// fs.ErrNotExist if there is no file.
func ReadPrivate(file string, password func() (string, error)) (Private, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return Private{}, err
	}
	text, err := readSecret(file)
	if err != nil {
		return Private{}, err
	}
	text = []byte(strings.TrimRight(string(text), "\r\n"))
	var p Private
	if !minisign.IsEncrypted(text) {
		if err := p.key.UnmarshalText(text); err != nil || !p.consistent() {
			return Private{}, usage.Errorf("%s is no private key of minisign", file)
		}
		return p, nil
	}
	secret, err := password()
	if err != nil {
		return Private{}, err
	}
	if p.key, err = minisign.DecryptKey(secret, text); err != nil || !p.consistent() {
		return Private{}, usage.Errorf("%s cannot be decrypted: the password is wrong, or the file is damaged", file)
	}
	return p, nil
}

// consistent reports whether the public part of the key is that of its private part: a signature of a damaged key could not be verified.
func (p Private) consistent() bool {
	text, err := p.Sign(strings.NewReader(""), "")
	if err != nil {
		return false
	}
	s, err := Parse(text)
	if err != nil {
		return false
	}
	_, err = s.Verify(strings.NewReader(""), p.Public())
	return err == nil
}

// readSecret reads a file that no other user can read, change or replace.
func readSecret(file string) ([]byte, error) {
	if err := ownedpath.CheckFile(file, os.Geteuid()); err != nil {
		return nil, usage.Errorf("%s", ownedpath.Explain(err))
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, usage.Errorf("%s can be read by others (mode %04o): chmod 600 %s, and make a new key if someone may have read it", file, info.Mode().Perm(), file)
	}
	text, err := filesystem.ReadFile(filesystem.OS{}, file, maxKeyFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = usage.Errorf("%s: %w", file, usage.Cause(err))
	}
	return text, err
}
