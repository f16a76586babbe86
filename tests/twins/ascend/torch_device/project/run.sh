set -e
cmake -S "$1" -B . -DCMAKE_BUILD_TYPE=Debug
cmake --build .
python3 "$1/test_muladd.py"
