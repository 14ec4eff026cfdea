package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"aead.dev/minisign"
)

// signatureFile is the signature of sumsFile, in the format of minisign.
const signatureFile = sumsFile + ".minisig"

// signingComment is the trusted comment of a signature: it names the version, so that the signed digests of another release are not
// accepted for it.
func (r *release) signingComment() string { return "bulkhead " + r.version }

// readKey reads the key for signatures before anything is built.
func (r *release) readKey() error {
	if r.keyFile == "" {
		return nil
	}
	text, err := os.ReadFile(r.keyFile)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		password, ok := os.LookupEnv("RELEASE_KEY_PASSWORD")
		if !ok {
			return fmt.Errorf("--key: %s is encrypted: set RELEASE_KEY_PASSWORD", r.keyFile)
		}
		key, err = minisign.DecryptKey(password, text)
	} else {
		err = key.UnmarshalText(text)
	}
	if err != nil {
		return fmt.Errorf("--key: %s: %w", r.keyFile, err)
	}
	r.key = &key
	return nil
}

// sign signs the digests of all files, if there is a key. Signatures by one key of the same bytes are the same.
func (r *release) sign(context.Context) error {
	if r.key == nil {
		return nil
	}
	sums, err := os.ReadFile(filepath.Join(r.files, sumsFile))
	if err != nil {
		return err
	}
	hashed := minisign.NewReader(bytes.NewReader(sums))
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		return err
	}
	signature := hashed.SignWithComments(*r.key, r.signingComment(), "signature of "+sumsFile)
	public, ok := r.key.Public().(minisign.PublicKey)
	if !ok || !hashed.Verify(public, signature) {
		return errors.New("--key: the signature does not verify")
	}
	return os.WriteFile(filepath.Join(r.files, signatureFile), signature, 0o644)
}
