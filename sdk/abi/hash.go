package abi

// OpHashSHA256 adds data to a SHA-256 digest: SHA256 -> SHA256Sum. The data bytes follow the JSON of the request. Hashing inside a module
// takes some thirty times as long. The operation needs no grant.
const OpHashSHA256 = "hash/sha256"

// MaxBeforeBytes is the maximum size of the JSON of a request that data bytes follow. A NUL byte, which JSON cannot contain, separates the
// JSON from the data bytes.
const MaxBeforeBytes = 4 << 10

// SHA256 contains the state of a digest. If State is empty, the operation begins a new digest.
type SHA256 struct {
	State []byte `json:"state,omitempty"`
}

// SHA256Sum contains the digest of all bytes so far, and the state for the next request. The state has the format of Go's crypto/sha256: 108
// bytes.
type SHA256Sum struct {
	Sum   string `json:"sum"` // the digest as 64 hexadecimal digits
	State []byte `json:"state"`
}
