package abi

// OpHashSHA256 adds the data bytes, which follow the request's JSON, to a SHA-256 digest: SHA256 -> SHA256Sum. Hashing
// inside a module takes some thirty times as long. It needs no grant.
const OpHashSHA256 = "hash/sha256"

// MaxBeforeBytes bounds the JSON of a request that is followed by data bytes. A NUL byte, which JSON cannot contain,
// separates the two.
const MaxBeforeBytes = 4 << 10

// SHA256 continues a digest; without a State it begins one.
type SHA256 struct {
	State []byte `json:"state,omitempty"`
}

// SHA256Sum contains the digest of all bytes so far, and the state from which the next request continues. The state is
// that of Go's crypto/sha256: 108 bytes.
type SHA256Sum struct {
	Sum   string `json:"sum"` // 64 hexadecimal digits
	State []byte `json:"state"`
}
