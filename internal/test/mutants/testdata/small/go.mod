module small

go 1.24
