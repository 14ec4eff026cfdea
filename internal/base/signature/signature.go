// Package signature signs files and verifies signatures in the format of minisign (https://jedisct1.github.io/minisign), so that the
// minisign program verifies what this package signs. Start with Parse and Signature.Verify. The package decides for no key: the caller
// has the keys that it accepts.
//
// The only accepted form is the one that minisign writes: prehashed, with the four lines of its format and nothing else.
package signature

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"aead.dev/minisign"
)

// Extension is that of a file with the signature of the file beside it, as minisign names it.
const Extension = ".minisig"

// MaxSize is the maximum size of a signature, in bytes.
const MaxSize = 4 << 10

// claim precedes the signer's public key in the first line of a signature. Nothing proves that line; a reader who has verified the signature
// with the key knows that it belongs to the signer of this file, and not who that is.
const claim = "signed by bulkhead with the key "

// Key is a public key.
type Key struct{ text string }

// ParseKey parses a public key: the second line of a file NAME.pub of minisign.
func ParseKey(text string) (Key, error) {
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(text)); err != nil || key.String() != text {
		return Key{}, errors.New("is no public key of minisign, which has 56 characters and begins with RW")
	}
	return Key{text}, nil
}

func (k Key) String() string { return k.text }

// Equal reports whether two keys are the same, as == does.
func (k Key) Equal(other Key) bool { return k == other }

// IsZero reports whether k is unset.
func (k Key) IsZero() bool { return k.text == "" }

// ID returns the identifier of the key that signatures contain, in hexadecimal. Several keys can have the same.
func (k Key) ID() string { return formatID(k.decode().ID()) }

func (k Key) decode() minisign.PublicKey {
	var key minisign.PublicKey
	_ = key.UnmarshalText([]byte(k.text)) // ParseKey has checked it; the zero value verifies nothing
	return key
}

// prefixSize is the number of bytes that precede the key proper in a decoded public key: the algorithm and the identifier.
const prefixSize = 2 + 8

// ed25519 returns the key for a single verification. ParseKey has checked it; for the zero value it panics, as a nil key would.
func (k Key) ed25519() ed25519.PublicKey {
	raw, _ := base64.StdEncoding.DecodeString(k.text)
	return raw[prefixSize:]
}

func formatID(id uint64) string { return fmt.Sprintf("%016X", id) }

// Signature is a well-formed signature. It proves nothing before Verify.
type Signature struct {
	decoded minisign.Signature
	text    []byte
}

// Parse parses a file NAME.minisig.
func Parse(text []byte) (*Signature, error) {
	s := &Signature{text: bytes.Clone(text)}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("the signature has more than %d bytes", MaxSize)
	}
	if err := s.decoded.UnmarshalText(text); err != nil {
		return nil, fmt.Errorf("it is no signature of minisign: %s", strings.TrimPrefix(err.Error(), "minisign: "))
	}
	if s.decoded.Algorithm != minisign.HashEdDSA {
		return nil, errors.New("the signature is in the legacy format of minisign, which is not prehashed: sign the file with a current minisign, without -l")
	}
	if canonical, err := s.decoded.MarshalText(); err != nil || !bytes.Equal(canonical, text) {
		return nil, errors.New("the signature differs from what minisign writes: it has other line endings, or more than four lines")
	}
	return s, nil
}

// Text returns the file that was parsed.
func (s *Signature) Text() []byte { return bytes.Clone(s.text) }

// KeyID returns the identifier of the key that the signature names, like Key.ID.
func (s *Signature) KeyID() string { return formatID(s.decoded.KeyID) }

// ClaimedKey returns the public key that the signer wrote into the signature, and whether there is one. It is a claim, by which a signer
// that is not known yet can be recognized the next time.
func (s *Signature) ClaimedKey() (Key, bool) {
	text, ok := strings.CutPrefix(s.decoded.UntrustedComment, claim)
	if !ok {
		return Key{}, false
	}
	key, err := ParseKey(text)
	return key, err == nil
}

// Comment returns the signed comment, which nothing proves before Verify or VerifyComment.
func (s *Signature) Comment() string { return s.decoded.TrustedComment }

// VerifyComment returns the key among keys that signed the comment. It needs no file, and says nothing about one: the comment itself must
// say what was signed. The error is ErrOtherKey or ErrChanged.
func (s *Signature) VerifyComment(keys ...Key) (Key, error) {
	signed := append(s.decoded.Signature[:], s.decoded.TrustedComment...)
	named := false
	for _, k := range keys {
		if k.IsZero() || k.decode().ID() != s.decoded.KeyID {
			continue
		}
		if ed25519.Verify(k.ed25519(), signed, s.decoded.CommentSignature[:]) {
			return k, nil
		}
		named = true
	}
	if named {
		return Key{}, ErrChanged
	}
	return Key{}, ErrOtherKey
}

// ErrOtherKey says that none of the keys made the signature. Whether the file is what was signed is not known then.
var ErrOtherKey = errors.New("none of the accepted keys made the signature")

// ErrChanged says that the file is not what was signed.
var ErrChanged = errors.New("the signature does not fit the file: one of them was changed")

// Verify returns the key among keys that made the signature of file. The error is ErrOtherKey, ErrChanged, or one of reading the file.
func (s *Signature) Verify(file io.Reader, keys ...Key) (Key, error) {
	digest := minisign.NewReader(file)
	if _, err := io.Copy(io.Discard, digest); err != nil {
		return Key{}, err
	}
	named := false
	for _, k := range keys {
		key := k.decode()
		if k.IsZero() || key.ID() != s.decoded.KeyID {
			continue
		}
		if digest.Verify(key, s.text) {
			return k, nil
		}
		named = true
	}
	if named {
		return Key{}, ErrChanged
	}
	return Key{}, ErrOtherKey
}
