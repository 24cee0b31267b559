//go:build linux

package neovim

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// encode appends the msgpack form of a value: nil, bool, int, string, []any or
// map[string]any.
func encode(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, 0xc0)
	case bool:
		if v {
			return append(out, 0xc3)
		}
		return append(out, 0xc2)
	case int:
		return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(v))
	case string:
		return append(binary.BigEndian.AppendUint32(append(out, 0xdb), uint32(len(v))), v...)
	case []any:
		out = binary.BigEndian.AppendUint32(append(out, 0xdd), uint32(len(v)))
		for _, x := range v {
			out = encode(out, x)
		}
		return out
	case map[string]any:
		out = binary.BigEndian.AppendUint32(append(out, 0xdf), uint32(len(v)))
		for k, x := range v {
			out = encode(encode(out, k), x)
		}
		return out
	}
	panic(fmt.Sprintf("neovim: %T has no msgpack form here", v))
}

// decode reads one value: nil, bool, int, float64, string, []any or map[string]any.
// An extension, as Neovim's handles are, is nil.
func decode(in *bufio.Reader) (any, error) {
	b, err := in.ReadByte()
	if err != nil {
		return nil, err
	}
	switch {
	case b <= 0x7f:
		return int(b), nil
	case b <= 0x8f:
		return decodeMap(in, int(b&0x0f))
	case b <= 0x9f:
		return decodeArray(in, int(b&0x0f))
	case b <= 0xbf:
		return decodeString(in, int(b&0x1f))
	case b >= 0xe0:
		return int(int8(b)), nil
	case b == 0xc0:
		return nil, nil
	case b == 0xc2, b == 0xc3:
		return b == 0xc3, nil
	}
	return decodeSized(in, b)
}

// decodeSized reads a value whose size or number follows its first byte.
func decodeSized(in *bufio.Reader, b byte) (any, error) {
	size, known := map[byte]int{
		0xc4: 1, 0xc5: 2, 0xc6: 4, 0xc7: 1, 0xc8: 2, 0xc9: 4, 0xca: 4, 0xcb: 8, 0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8,
		0xd0: 1, 0xd1: 2, 0xd2: 4, 0xd3: 8, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4,
		0xd4: 0, 0xd5: 0, 0xd6: 0, 0xd7: 0, 0xd8: 0,
	}[b]
	if !known {
		return nil, fmt.Errorf("no msgpack: %#x", b)
	}
	n, err := number(in, size)
	if err != nil {
		return nil, err
	}
	switch b {
	case 0xc4, 0xc5, 0xc6, 0xd9, 0xda, 0xdb:
		return decodeString(in, int(n))
	case 0xc7, 0xc8, 0xc9:
		return extension(in, int(n))
	case 0xca:
		return float64(math.Float32frombits(uint32(n))), nil
	case 0xcb:
		return math.Float64frombits(n), nil
	case 0xd0:
		return int(int8(n)), nil
	case 0xd1:
		return int(int16(n)), nil
	case 0xd2:
		return int(int32(n)), nil
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return extension(in, 1<<(b-0xd4))
	case 0xdc, 0xdd:
		return decodeArray(in, int(n))
	case 0xde, 0xdf:
		return decodeMap(in, int(n))
	}
	return int(n), nil
}

func number(in *bufio.Reader, size int) (uint64, error) {
	var n uint64
	for range size {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		n = n<<8 | uint64(b)
	}
	return n, nil
}

func extension(in *bufio.Reader, size int) (any, error) {
	_, err := in.Discard(size + 1)
	return nil, err
}

func decodeString(in *bufio.Reader, n int) (any, error) {
	text := make([]byte, n)
	_, err := io.ReadFull(in, text)
	return string(text), err
}

func decodeArray(in *bufio.Reader, n int) (any, error) {
	out := make([]any, n)
	for i := range out {
		var err error
		if out[i], err = decode(in); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func decodeMap(in *bufio.Reader, n int) (any, error) {
	out := make(map[string]any, n)
	for range n {
		key, err := decode(in)
		if err != nil {
			return nil, err
		}
		if out[fmt.Sprint(key)], err = decode(in); err != nil {
			return nil, err
		}
	}
	return out, nil
}
