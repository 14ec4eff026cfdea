package code

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
)

const (
	infoFile = "info.json" // the output of InfoMain: a modinfo.Info
	maxInfo  = 8 << 20     // bytes of infoFile
	// infoCPU limits the processor time of the child of ReadInfo, which reads each byte of the file a few times.
	infoCPU = 20 * time.Second
)

// InfoMain is the main function of the child process of ReadInfo, confined as the one that compiles. It returns the exit code.
func InfoMain(args []string) int { return childMain(args, writeInfo) }

func writeInfo(module []byte, dir string, _ int) error {
	text, err := json.Marshal(modinfo.Read(module))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, infoFile), text, 0o600)
}

// ReadInfo reads what a file tells about itself, and returns the file's SHA-256 in lower-case hex. A child process parses the file;
// reader is a command that calls InfoMain with the arguments that ReadInfo appends. The result is untrusted. The error is an *Error, or
// the cause of ctx's cancellation.
func ReadInfo(ctx context.Context, reader []string, file string) (info modinfo.Info, sum string, err error) {
	var module bytes.Buffer
	if sum, err = readModule(Module{File: file}, &module); err != nil {
		return info, "", err
	}
	out, err := tempdir.New(privateKind)
	if err != nil {
		return info, "", storageError(err)
	}
	defer func() {
		if rerr := out.Remove(); err == nil && rerr != nil {
			err = storageError(rerr)
		}
	}()
	j := &job{binary: module.Bytes(), dir: out.Path, workers: 1, config: Config{Compiler: reader, Confined: isExpected, CPU: infoCPU, wall: wallFactor * infoCPU}}
	if err := j.run(ctx); err != nil {
		return info, "", err
	}
	root, err := os.OpenRoot(out.Path)
	if err != nil {
		return info, "", storageError(err)
	}
	defer root.Close()
	text, err := readBounded(root, infoFile, maxInfo)
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	if err != nil {
		return info, "", &Error{Reason: Compiler, Text: "the module's description cannot be read: " + err.Error(), Err: err}
	}
	return info, sum, nil
}
