package bearer

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// digest is the digest of a token. A token has so many random bits that its digest cannot be reversed, and needs no salt. Digests have the
// same length, so that comparing them takes the same time for all tokens.
type digest [sha256.Size]byte

func digestOf(token string) digest { return sha256.Sum256([]byte(token)) }

// Bounds of a token, in bytes.
const (
	minToken = 20
	maxToken = 4 << 10
)

// SecretBits is the number of random bits of a token: rand.Text returns 26 digits of base 32.
const SecretBits = 2 * 26 * 5

// NewSecret returns a random token of SecretBits bits.
func NewSecret() string { return rand.Text() + rand.Text() }

// CheckSecret returns an error if the server's single token cannot be one, or is short enough to be guessed. The error does not contain it.
func CheckSecret(token string) error {
	switch {
	case len(token) < minToken:
		return fmt.Errorf("it has fewer than %d characters: make one with `bulkhead token new ./FILE`", minToken)
	case len(token) > maxToken:
		return fmt.Errorf("it has more than %d characters", maxToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it has characters other than visible ASCII")
	}
	return nil
}
