package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
)

// signatureExtension is that of the signature of a file, in the format of minisign.
const signatureExtension = ".minisig"

// signatureFile is the signature of sumsFile.
const signatureFile = sumsFile + signatureExtension

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

// signFiles signs, if there is a key, the plugins, the catalogue and the digests of all files. The files of a release that was built before are
// signed by the same steps, so that the key need not be where third parties' code is compiled. Signatures by one key of the same bytes are the
// same.
func (r *release) signFiles(ctx context.Context) error {
	if r.key == nil {
		return r.makeSums(ctx)
	}
	if !r.makes("plugins") {
		return errors.Join(r.makeSums(ctx), r.signSums())
	}
	plugins, err := r.loadPlugins()
	if err != nil {
		return err
	}
	for _, p := range plugins {
		if err := p.sign(*r.key); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.files, p.file+signatureExtension), p.signature, 0o644); err != nil {
			return err
		}
	}
	if err := errors.Join(r.makeCatalogue(plugins), r.makeSums(ctx)); err != nil {
		return err
	}
	return r.signSums()
}

// signBuilt signs the files of a release that was built before.
func (r *release) signBuilt(ctx context.Context) error {
	if err := errors.Join(r.readKey(), r.checkFiles(), r.findDate(ctx)); err != nil {
		return err
	}
	return r.signFiles(ctx)
}

// checkFiles checks that the files of a release are those that its SHA256SUMS names.
func (r *release) checkFiles() error {
	if err := checkReplaceable(r.files); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(r.files, sumsFile))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(sums)) {
		want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || !filepath.IsLocal(name) {
			return fmt.Errorf("%s has the invalid line %q", filepath.Join(r.files, sumsFile), line)
		}
		data, err := os.ReadFile(filepath.Join(r.files, name))
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			return fmt.Errorf("%s is not the file that %s names", filepath.Join(r.files, name), sumsFile)
		}
	}
	return nil
}

// signSums signs the digests of all files.
func (r *release) signSums() error {
	sums, err := os.ReadFile(filepath.Join(r.files, sumsFile))
	if err != nil {
		return err
	}
	signature, err := signBytes(*r.key, sums, r.signingComment(), "signature of "+sumsFile)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.files, signatureFile), signature, 0o644)
}

// signBytes returns the signature of data with a trusted and an untrusted comment.
func signBytes(key minisign.PrivateKey, data []byte, trusted, untrusted string) ([]byte, error) {
	hashed := minisign.NewReader(bytes.NewReader(data))
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		return nil, err
	}
	signature := hashed.SignWithComments(key, trusted, untrusted)
	if public, ok := key.Public().(minisign.PublicKey); !ok || !hashed.Verify(public, signature) {
		return nil, errors.New("--key: the signature does not verify")
	}
	return signature, nil
}
