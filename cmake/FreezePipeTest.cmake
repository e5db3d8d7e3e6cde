include(GoogleTest)
add_custom_target(tsan_tests)  # what the preset tsan tests

# freezepipe_test(NAME SOURCES a.cc ... LIBS x ... [LABEL fast|fast-tsan|slow|training|gpu|e2e|long] [TIMEOUT seconds]
#                 [WHOLE])
# A GoogleTest program. Label fast: all of them together take under a minute; fast-tsan: also run under
# ThreadSanitizer. WHOLE: one ctest entry for the
# program instead of one for each case (programs whose start-up costs more than their cases).
function(freezepipe_test name)
  cmake_parse_arguments(T "WHOLE" "TIMEOUT;LABEL" "SOURCES;LIBS" ${ARGN})
  if(NOT T_LABEL)
    set(T_LABEL fast)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE FREEZEPIPE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    FREEZEPIPE_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(T_LABEL STREQUAL fast-tsan)
    add_dependencies(tsan_tests ${name})
  endif()
  if(T_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABEL}" TIMEOUT ${T_TIMEOUT})
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120
      PROPERTIES LABELS "${T_LABEL}" TIMEOUT ${T_TIMEOUT})
  endif()
endfunction()
