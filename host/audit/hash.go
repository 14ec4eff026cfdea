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
	"path/filepath"
	"strings"
	"sync"
)

// hasher names arguments without giving them away. A plain digest would: arguments are short and alike, and
// whoever has the log could try names, numbers and yes or no until one fits. With a key that stays beside
// the log only its owner can check a guess, and equal arguments still show as equal over all runs and
// hosts that share the log, which a salt for each run would not give.
//
// The bytes are hashed as the client sent them: any other form would have to be computed on every call, and
// rebuilt exactly by whoever checks.
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

// loadKey reads the key file, 64 hexadecimal digits, and makes it if it is not there. The caller holds the
// lock of the log.
func loadKey(path string) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY, 0o077)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
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
		return nil, fmt.Errorf("%s is not a key of %d hexadecimal digits: move it away, and another is made", path, 2*keySize)
	}
	return key, nil
}

// makeKey writes the file beside its place first: a full disk leaves no half key there.
func makeKey(path string) (key []byte, err error) {
	key = make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return key, nil
}
