# find_package(ASC) before project(... LANGUAGES ASC CXX): CMake learns where the language is described.

list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(ASC_FOUND TRUE)
