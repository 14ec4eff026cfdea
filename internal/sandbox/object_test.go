//go:build unix

package sandbox

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"testing"
)

// looseObject writes a loose object and returns its hash.
func looseObject(t testing.TB, write func(name, content string), kind, content string) []byte {
	t.Helper()
	object := fmt.Sprintf("%s %d\x00%s", kind, len(content), content)
	sum := sha1.Sum([]byte(object))
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write([]byte(object)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := hexOf(sum[:])
	write("objects/"+name[:2]+"/"+name[2:], packed.String())
	return sum[:]
}

func hexOf(hash []byte) string { return hex.EncodeToString(hash) }
