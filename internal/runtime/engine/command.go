package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// command is the kind of WASI programs. A request is one run of _start with the request's arguments and standard input. The response
// has the program's standard output and exit code, and an excerpt of its standard error.
//
// _start may run only once in an instance. The snapshot is taken before _start, so a restored instance can run _start as a new one
// does, and restoring takes a fraction of the time. wazero fixes the arguments when it creates an instance, and closes an instance
// that exits. So this package replaces the functions of WASI for arguments and exit.
type command struct{}

const exportStart = "_start"

// process is the state of one run of a command.
type process struct {
	args   []string // begins with the name of the program
	stdin  []byte   // what the program has not read yet
	stdout chunks
	stderr excerpt
	exit   uint32 // the exit code
}

// replaced are the functions of WASI that this package provides to commands instead of wazero.
var replaced = []hostFunction{
	{"args_sizes_get", 2, 1, withCall(func(c *execution, mod api.Module, stack []uint64) {
		size := 0
		for _, arg := range c.args() {
			size += len(arg) + 1
		}
		stack[0] = errnoOf(mod.Memory().WriteUint32Le(uint32(stack[0]), uint32(len(c.args()))) &&
			mod.Memory().WriteUint32Le(uint32(stack[1]), uint32(size)))
	})},
	{"args_get", 2, 1, withCall(func(c *execution, mod api.Module, stack []uint64) {
		stack[0] = errnoOf(c.writeArgs(mod.Memory(), uint32(stack[0]), uint32(stack[1])))
	})},
	{"proc_exit", 1, 0, withCall(func(c *execution, mod api.Module, stack []uint64) {
		panic(sys.NewExitError(uint32(stack[0]))) // unwinds the module: wazero returns it as the error of the run
	})},
}

// errnoOf returns WASI's errno of an access to memory.
func errnoOf(ok bool) uint64 {
	const success, efault = 0, 21
	if ok {
		return success
	}
	return efault
}

// args returns the arguments of the call; nil outside of a request, in the module's start function.
func (c *execution) args() []string {
	if c.process == nil {
		return nil
	}
	return c.process.args
}

// writeArgs writes the addresses of the arguments to memory from argv on, and the arguments, each with a final NUL, from buffer on. It
// reports whether the memory has the room.
func (c *execution) writeArgs(memory api.Memory, argv, buffer uint32) bool {
	for _, arg := range c.args() {
		c.charge(len(arg) + 1 + 4)
		head, okHead := memory.Read(argv, 4)
		text, okText := memory.Read(buffer, uint32(len(arg)+1))
		if !okHead || !okText {
			return false
		}
		binary.LittleEndian.PutUint32(head, buffer)
		copyChunked(text, []byte(arg))
		text[len(arg)] = 0
		argv, buffer = argv+4, buffer+uint32(len(arg)+1)
	}
	return true
}

func (command) entry() string { return exportStart }

func (command) reusable() bool { return false }

// check implements kind.
func (command) check(compiled wazero.CompiledModule) error {
	var violations []string
	if f, ok := compiled.ExportedFunctions()[exportStart]; !ok {
		violations = append(violations, "it does not export the function "+exportStart)
	} else if len(f.ParamTypes())+len(f.ResultTypes()) != 0 {
		violations = append(violations, "its export "+exportStart+" does not have the signature ()")
	}
	violations = append(violations, checkMemory(compiled)...)
	for _, f := range compiled.ImportedFunctions() {
		if module, _, _ := f.Import(); !provided(module) {
			violations = append(violations, notProvided(f))
		}
	}
	if len(violations) > 0 {
		return fmt.Errorf("it is not a WASI command: %s", strings.Join(violations, "; "))
	}
	return nil
}

func (command) hostModules(ctx context.Context, runtime wazero.Runtime) error {
	builder := runtime.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(builder)
	for _, f := range replaced {
		builder = builder.NewFunctionBuilder().WithGoModuleFunction(f.call, i32s(f.params), i32s(f.results)).Export(f.name)
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("WASI cannot be instantiated: %w", err)
	}
	return nil
}

// configure implements kind. The standard error of the program is for the client, so the host logs it at level debug only.
func (command) configure(i *instance, config wazero.ModuleConfig) wazero.ModuleConfig {
	i.stderr.level = hclog.Debug
	return config.WithStdin(processInput{i}).WithStdout(processOutput{i}).WithStderr(processErrors{i})
}

func (command) initialize(context.Context, *instance) *Error { return nil }

func (command) warm(context.Context, *instance) *Error { return nil }

func (command) handle(c *execution, r Prepared) (Held, *Error) {
	p := &process{args: slices.Concat([]string{c.module.spec.Name}, r.Args), stdin: r.Stdin}
	c.process = p
	response, failure := c.instance.respond(c, c.instance.entry)
	if failure == nil {
		response.Body, response.Stderr, response.Exit = p.stdout.join(), p.stderr.text(), p.exit
		if p.exit != 0 && c.instance.memory.growRefused { // the refusal may have caused the failure, and the program cannot report the limit
			response.Stderr = fmt.Appendf(response.Stderr, "\nbulkhead: the program needed more memory than %s", c.instance.memory.bound())
		}
	}
	return response, failure
}

// exited reports whether the error of a run says that the program exited, which is not a failure of the call. It records the exit code.
func (c *execution) exited(err error) bool {
	exit := (*sys.ExitError)(nil)
	if c.process == nil || c.aborted != nil || !errors.As(err, &exit) {
		return false
	}
	c.process.exit = exit.ExitCode()
	return true
}

// processInput is the standard input of a command.
type processInput struct{ instance *instance }

// Read implements io.Reader.
func (in processInput) Read(buf []byte) (int, error) {
	c := in.instance.current
	if c == nil || c.process == nil || len(c.process.stdin) == 0 {
		return 0, io.EOF
	}
	n := min(len(buf), len(c.process.stdin))
	in.instance.Spend(n)
	copyChunked(buf, c.process.stdin[:n])
	c.process.stdin = c.process.stdin[n:]
	return n, nil
}

// processOutput is the standard output of a command.
type processOutput struct{ instance *instance }

// Write implements io.Writer. It ends a call that prints more than Spec.Output.
func (out processOutput) Write(p []byte) (int, error) {
	i := out.instance
	i.Spend(len(p))
	if c := i.current; c != nil && c.process != nil {
		if int64(c.process.stdout.size)+int64(len(p)) > i.owner.spec.Output {
			c.abort(i.owner.outputError())
		}
		c.cover(&c.covered.output, c.process.stdout.size+len(p))
		c.process.stdout.add(p)
	}
	return len(p), nil
}

// OutputError returns the *Error of a call whose response would exceed Spec.Output after a conversion.
func (m *Module) OutputError() error { return m.outputError() }

func (m *Module) outputError() *Error {
	return m.errorf(CodeOutputSize, nil, "printed more than its limit of %d bytes", m.spec.Output)
}

// processErrors is the standard error of a command.
type processErrors struct{ instance *instance }

// Write implements io.Writer. It enforces Spec.LogSize.
func (out processErrors) Write(p []byte) (int, error) {
	if c := out.instance.current; c != nil && c.process != nil {
		c.process.stderr.add(p)
	}
	return out.instance.stderr.Write(p)
}

// chunks collects bytes without copying those that it already holds: copying much memory at once delays the other goroutines.
type chunks struct {
	list [][]byte
	size int
}

func (b *chunks) add(p []byte) {
	b.size += len(p)
	for len(p) > 0 {
		last := len(b.list) - 1
		if last < 0 || len(b.list[last]) == cap(b.list[last]) {
			b.list = append(b.list, make([]byte, 0, min(copyChunk, max(4<<10, 2*b.size))))
			last++
		}
		n := min(len(p), cap(b.list[last])-len(b.list[last]))
		b.list[last] = append(b.list[last], p[:n]...)
		p = p[n:]
	}
}

// join returns the collected bytes. They may share memory with b.
func (b *chunks) join() []byte {
	if len(b.list) == 1 {
		return b.list[0]
	}
	out := make([]byte, 0, b.size)
	for _, chunk := range b.list {
		out = append(out, chunk...)
	}
	return out
}

// maxExcerpt bounds each of the two parts of an excerpt in bytes.
const maxExcerpt = 16 << 10

// excerpt keeps the beginning and the end of a stream, because most programs state there what went wrong.
type excerpt struct {
	head, tail []byte
	dropped    int // number of bytes between head and tail
}

func (e *excerpt) add(p []byte) {
	n := min(len(p), maxExcerpt-len(e.head))
	e.head = append(e.head, p[:n]...)
	p = p[n:]
	if drop := len(p) - 2*maxExcerpt; drop > 0 {
		e.dropped += drop + len(e.tail)
		e.tail, p = e.tail[:0], p[drop:]
	}
	e.tail = append(e.tail, p...)
	if drop := len(e.tail) - maxExcerpt; len(e.tail) > 3*maxExcerpt {
		e.dropped += drop
		e.tail = append(e.tail[:0], e.tail[drop:]...)
	}
}

// text returns the excerpt. A line between its two parts says how many bytes are missing.
func (e *excerpt) text() []byte {
	if drop := len(e.tail) - maxExcerpt; drop > 0 {
		e.dropped += drop
		e.tail = e.tail[drop:]
	}
	if e.dropped == 0 {
		return slices.Concat(e.head, e.tail)
	}
	return fmt.Appendf(slices.Clone(e.head), "\n… %d bytes are left out …\n%s", e.dropped, e.tail)
}
