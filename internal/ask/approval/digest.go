package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// encoding names the format of what is hashed, and changes with it.
const encoding = "agent-wrapper approval 1"

// maxInput is the maximum size in bytes of an input with a digest; the
// evaluator denies anything longer.
const maxInput = 16 << 20

// Digest returns the hash that binds an answer to the request. It covers the
// tool, the input, the directory, the session, the agent, the shell's dialect,
// the version of the policy, and whether the requester demands the question. Inputs that are equal as JSON have equal
// digests; no others do. The error says why the input is not a single JSON
// object.
//
// The format is "1:" and, in hexadecimal, the SHA-256 of the name of the
// encoding and the fields in that order, each as its length in 8 bytes, most
// significant first, and its bytes. A demanded question has one field more, "ask".
// The input is encoded without blanks and with sorted keys, numbers unchanged.
func Digest(r *permission.Request) (string, error) {
	input, err := canonical(r.Use.Input)
	if err != nil {
		return "", fmt.Errorf("the input of %s: %w", r.Use.Tool, err)
	}
	fields := []string{
		encoding, r.Use.Tool, input, r.Use.Dir, r.Use.Session, r.Use.Agent,
		fmt.Sprint(uint8(r.Use.Dialect)), r.Version,
	}
	if r.Use.ForceAsk {
		fields = append(fields, "ask")
	}
	h := sha256.New()
	for _, field := range fields {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(field)))
		h.Write(size[:])
		h.Write([]byte(field))
	}
	return "1:" + hex.EncodeToString(h.Sum(nil)), nil
}

// canonical returns the canonical encoding of a JSON object.
func canonical(input json.RawMessage) (string, error) {
	object, err := strictjson.Object(input, strictjson.MaxSize(maxInput))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(object)
	return string(text), err
}
