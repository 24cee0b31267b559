package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// encoding names the form of what is digested; it changes with it.
const encoding = "agent-wrapper approval 1"

// maxInput is the size of an input in bytes beyond which there is no digest;
// the evaluator denies what is longer.
const maxInput = 16 << 20

// Digest returns what an answer to the request is bound to: a hash of the tool,
// the input, the directory, the session, the agent, the shell's dialect and the
// version of the policy. Two inputs that say the same in JSON have the same
// digest; nothing else has. An error says why the input is not one JSON object.
//
// The form is "1:" and, in hexadecimal, the SHA-256 of the fields in that order
// behind the name of the encoding, each as its length in 8 bytes, the most
// significant first, and its bytes. The input is written without blanks, keys
// sorted, numbers as they came.
func Digest(r *permission.Request) (string, error) {
	input, err := canonical(r.Use.Input)
	if err != nil {
		return "", fmt.Errorf("the input of %s: %w", r.Use.Tool, err)
	}
	h := sha256.New()
	for _, field := range [...]string{
		encoding, r.Use.Tool, input, r.Use.Dir, r.Use.Session, r.Use.Agent,
		fmt.Sprint(uint8(r.Use.Dialect)), r.Version,
	} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(field)))
		h.Write(size[:])
		h.Write([]byte(field))
	}
	return "1:" + hex.EncodeToString(h.Sum(nil)), nil
}

// canonical is the one spelling of a JSON object.
func canonical(input json.RawMessage) (string, error) {
	object, err := strictjson.Object(input, strictjson.MaxSize(maxInput))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(object)
	return string(text), err
}
