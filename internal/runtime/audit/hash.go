package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// hasher identifies arguments without disclosing them. A plain digest would disclose short arguments to anyone
// who reads the log and guesses them. With a secret key beside the log only its owner can verify a guess. Equal
// arguments still have equal hashes across all runs and hosts that share the log, unlike with a salt for each
// run.
//
// It hashes the bytes that the client sent. A normalized form would cost time on every call, and a verifier
// would have to reproduce it exactly.
type hasher struct{ pool sync.Pool }

func newHasher(key []byte) *hasher {
	return &hasher{sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

const hashPrefix = "hmac-sha256:"

func (h *hasher) hash(data []byte) string {
	mac := h.pool.Get().(hash.Hash)
	defer h.pool.Put(mac)
	mac.Reset()
	mac.Write(data)
	var sum [sha256.Size]byte
	text := make([]byte, 0, len(hashPrefix)+2*sha256.Size)
	return string(hex.AppendEncode(append(text, hashPrefix...), mac.Sum(sum[:0])))
}

const keySize = 32

// loadKey reads the key file, 64 hexadecimal digits, or creates it if it is absent. The caller must hold the lock
// of the log.
func loadKey(path string) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY, 0o077)
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4*keySize))
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("%s is not a key of %d hexadecimal digits: move the file away: the host then creates a new key", path, 2*keySize)
	}
	return key, nil
}

// createKey creates the key file atomically, so that a full disk leaves no truncated key.
func createKey(path string) ([]byte, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	options := atomicfile.Options{Mode: 0o600, Pattern: ".audit-key-*.tmp", SweepAge: atomicfile.LongestWrite}
	if err := atomicfile.Replace(path, []byte(hex.EncodeToString(key)+"\n"), options); err != nil {
		return nil, err
	}
	return key, nil
}
